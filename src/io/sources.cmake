set(SOURCES digits.cpp event_file.cpp json_text.cpp npz.cpp plot.cpp safetensors.cpp)
