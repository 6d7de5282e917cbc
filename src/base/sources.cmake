set(SOURCES array.cpp array_print.cpp array_random.cpp compilation.cpp config.cpp config_file.cpp convert.cpp
            deep_call.cpp device_memory.cpp device_name.cpp dtype.cpp environment.cpp error.cpp file.cpp flag_table.cpp
            float_text.cpp fork_safe_mutex.cpp interrupt.cpp memory.cpp mrg31k3p.cpp npy.cpp numpy_random.cpp
            process.cpp rethrow.cpp running_callback.cpp shape.cpp stage.cpp thread.cpp)
