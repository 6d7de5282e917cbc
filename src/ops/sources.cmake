set(SOURCES activations.cpp contract.cpp elementwise.cpp generate.cpp leaf.cpp losses.cpp nnet.cpp reduce.cpp registry.cpp transfer.cpp view.cpp)
