set(SOURCES device_scope.cpp gradient.cpp import.cpp node.cpp shared.cpp)
