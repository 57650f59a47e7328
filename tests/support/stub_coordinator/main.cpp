// gym-coordinator with hashing in the engine's place, so that many nodes can be served without
// training anything.

#include "coordinator_program.hpp"
#include "fake_compute.hpp"

int main(int argc, char** argv) {
    using namespace gym;
    return app::run_coordinator(argc, argv, [](std::unique_ptr<coordinator::Compute>) {
        return std::make_unique<testing::FakeCompute>();
    });
}
