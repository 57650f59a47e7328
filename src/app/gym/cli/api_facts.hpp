#pragma once

#include <memory>
#include <string>

#include "gym/rewards/fact_check.hpp"

namespace gym::app {

/// Jobs, units and reports as a gym-api tells them. @errors kMalformed for an answer of another
/// form, and those of api_get().
[[nodiscard]] std::unique_ptr<rewards::FactSource> make_api_facts(std::string api_url);

}  // namespace gym::app
