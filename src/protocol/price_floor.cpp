#include "gym/protocol/price_floor.hpp"

namespace gym::protocol {

std::string below_floor(const Amount& price_wei_per_pflop, const Amount& floor_wei) {
    if (price_wei_per_pflop >= floor_wei) return {};
    return "'price_per_pflop' is " + price_wei_per_pflop.to_tokens() +
           ", this network takes no job below " + floor_wei.to_tokens();
}

}  // namespace gym::protocol
