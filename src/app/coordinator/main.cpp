#include "cli/program_main.hpp"
#include "coordinator_program.hpp"

int main(int argc, char** argv) {
    return gym::app::program_main("gym-coordinator",
                                  [&] { return gym::app::run_coordinator(argc, argv); });
}
