#pragma once
#include "execute.hpp"

