#include <set>

#include "ops.hpp"

namespace gym::torch_import {

bool is_movement(const std::string& name) {
    static const std::set<std::string> names = {
        "aten::alias",   "aten::chunk",     "aten::contiguous",
        "aten::detach",  "aten::expand",    "aten::expand_as",
        "aten::flatten", "aten::narrow",    "aten::numpy_T",
        "aten::permute", "aten::reshape",   "aten::select",
        "aten::slice",   "aten::split",     "aten::split_with_sizes",
        "aten::squeeze", "aten::swapaxes",  "aten::t",
        "aten::to",      "aten::transpose", "aten::type_as",
        "aten::unbind",  "aten::unflatten", "aten::unsqueeze",
        "aten::view",    "aten::view_as",   "aten::clone"};
    return names.contains(name);
}

bool is_container_op(const std::string& name) {
    static const std::set<std::string> names = {"aten::__getitem__", "aten::append", "aten::list",
                                                "aten::_set_item",   "aten::extend", "aten::insert",
                                                "aten::pop"};
    return names.contains(name) || name.starts_with("prim::");
}

}  // namespace gym::torch_import
