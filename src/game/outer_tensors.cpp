#include "gym/game/outer_tensors.hpp"

namespace gym::game {

using dispute::TraceHeader;

bool has_update(const TraceHeader& header) {
    return header.update_codec != program::UpdateCodec::kNone;
}

std::uint64_t outer_count(const TraceHeader& header) {
    const std::uint64_t parameters = header.parameters;
    return has_update(header) ? 2 * parameters + 1 : parameters;
}

std::uint64_t tensor_count(const TraceHeader& header, OuterTree tree) {
    if (tree == OuterTree::kBase) return header.parameters;
    return outer_count(header) + (tree == OuterTree::kBoth ? header.parameters : 0);
}

bool is_update(const TraceHeader& header, OuterTree tree, std::uint64_t number) {
    return has_update(header) && tree == OuterTree::kMomentum && number == update_number(header);
}

bool is_residual(const TraceHeader& header, OuterTree tree, std::uint64_t number) {
    return has_update(header) && tree == OuterTree::kMomentum && number >= header.parameters &&
           number < update_number(header);
}

std::uint64_t parameter_of(const TraceHeader& header, OuterTree tree, std::uint64_t number) {
    return is_residual(header, tree, number) ? number - header.parameters : number;
}

std::uint64_t residual_number(const TraceHeader& header, std::uint64_t parameter) {
    return header.parameters + parameter;
}

std::uint64_t update_number(const TraceHeader& header) {
    return std::uint64_t{2} * header.parameters;
}

}  // namespace gym::game
