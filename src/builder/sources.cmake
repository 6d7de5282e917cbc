set(SOURCES clone.cpp device_scope.cpp gradient.cpp import.cpp node.cpp shared.cpp batch.cpp derivatives.cpp)
