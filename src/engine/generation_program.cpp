#include "generation_program.hpp"

#include "gym/program/recognise.hpp"
#include "gym/program/train_program.hpp"

namespace gym::engine {

using program::Program;

Result<Program> generation_program(const Program& train) {
    if (const auto config = program::recognise_decoder(train))
        return program::logits_program(*config, 1);
    return program::logits_program(train);
}

}  // namespace gym::engine
