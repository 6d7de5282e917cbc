set(SOURCES digits.cpp event_file.cpp npz.cpp plot.cpp safetensors.cpp)
