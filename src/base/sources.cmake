set(SOURCES array.cpp array_print.cpp array_random.cpp config.cpp config_file.cpp convert.cpp device_memory.cpp device_name.cpp dtype.cpp environment.cpp error.cpp file.cpp
            flag_table.cpp float_text.cpp memory.cpp npy.cpp process.cpp shape.cpp)
