set(SOURCES contract.cpp composed.cpp elementwise.cpp functions.cpp special.cpp special_reference.cpp generate.cpp leaf.cpp nnet.cpp reduce.cpp registry.cpp transfer.cpp view.cpp)
