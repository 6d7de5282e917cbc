set(SOURCES branches.cpp clone.cpp device_scope.cpp gradient.cpp gradient_line.cpp import.cpp mirrors.cpp node.cpp
            own_lines.cpp shared.cpp stable_form.cpp state_lock.cpp batch.cpp derivatives.cpp)
