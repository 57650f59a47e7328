#pragma once

#include "gym/owner/find_id.hpp"

namespace gym::app {

using owner::find_dataset;
using owner::find_init_job;
using owner::find_job;
using owner::is_id_prefix;

}  // namespace gym::app
