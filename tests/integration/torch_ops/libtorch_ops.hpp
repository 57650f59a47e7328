#pragma once

// torch.ops.gym as C++ calls it: the library loaded at run time, its ops by name.

#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

namespace gym::testing {

using torch::Tensor;

inline void load_library() {
    static void* const library = ::dlopen(GYM_OPS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
}

inline std::vector<c10::IValue> call_all(const char* name, std::vector<c10::IValue> arguments) {
    const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow((std::string("gym::") + name).c_str(), "");
    // Defaults of the schema for what is not given.
    const auto& schema = op.schema().arguments();
    for (std::size_t i = arguments.size(); i < schema.size(); ++i)
        arguments.push_back(schema[i].default_value().value());
    op.callBoxed(arguments);
    return arguments;
}

template <class... Arguments>
Tensor call(const char* name, Arguments... arguments) {
    return call_all(name, {arguments...}).at(0).toTensor();
}

class TorchOps : public ::testing::Test {
  protected:
    void SetUp() override {
        load_library();
        torch::manual_seed(4);
    }
};

}  // namespace gym::testing
