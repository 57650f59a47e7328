#include "coordinator_program.hpp"

int main(int argc, char** argv) {
    return gym::app::run_coordinator(argc, argv);
}
