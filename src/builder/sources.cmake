set(SOURCES gradient.cpp import.cpp node.cpp shared.cpp)
