set(SOURCES complex.cpp contract.cpp elementwise.cpp generate.cpp leaf.cpp nnet.cpp reduce.cpp registry.cpp transfer.cpp view.cpp)
