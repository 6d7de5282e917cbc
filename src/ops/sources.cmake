set(SOURCES computed.cpp contract.cpp cumulate.cpp elementwise.cpp generate.cpp leaf.cpp lines.cpp nnet.cpp reduce.cpp registry.cpp
            scatter.cpp sort.cpp transfer.cpp view.cpp)
