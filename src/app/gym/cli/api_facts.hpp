#pragma once

#include <memory>

#include "gym/client/api_client.hpp"
#include "gym/rewards/fact_check.hpp"

namespace gym::app {

/// Jobs, units and reports as a gym-api publishes them. @errors those of client::ApiClient.
[[nodiscard]] std::unique_ptr<rewards::FactSource> make_api_facts(client::ApiClient api);

}  // namespace gym::app
