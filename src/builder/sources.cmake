set(SOURCES batch.cpp derivatives.cpp device_scope.cpp gradient.cpp import.cpp node.cpp shared.cpp)
