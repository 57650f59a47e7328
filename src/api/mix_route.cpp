#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <stdexcept>

#include "gym/common/json_fields.hpp"
#include "gym/data/mix.hpp"
#include "routes.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

/// Of JSON no number is NaN, but 1e400 is infinite.
std::uint64_t weight_ppm_of(const json::object& object) {
    const auto weight = json_fields::number_of<double>(object, "weight");
    if (!(weight >= data::kMixWeightMin && weight <= data::kMixWeightMax))
        throw std::runtime_error("weight: expected 0.000001 to 100");
    return data::mix_weight_ppm(weight);
}

/// No member but these.
void expect_only(const json::object& object, std::initializer_list<std::string_view> names) {
    for (const auto& member : object)
        if (std::ranges::find(names, std::string_view(member.key())) == names.end())
            throw std::runtime_error("there is no member '" + std::string(member.key()) + "'");
}

MixOrder::Part part_of(const json::object& object) {
    expect_only(object, {"dataset", "weight"});
    return {json_fields::text_of(object, "dataset"), weight_ppm_of(object)};
}

/// @errors kMalformed.
Result<MixOrder> order_of(const Call& call) {
    try {
        const json::object object = json::parse(call.request.body).as_object();
        expect_only(object, {"parts", "tokens", "best_effort"});
        MixOrder out;
        out.owner = *call.owner;
        out.parts = json_fields::list_of(object, "parts", part_of);
        if (object.contains("tokens")) out.tokens = json_fields::number_of(object, "tokens");
        if (object.contains("best_effort"))
            out.best_effort = json_fields::flag_of(object, "best_effort");
        return out;
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed,
                    "the body must be {\"parts\": [{\"dataset\": \"NAME or 0x...\", \"weight\": "
                    "0.7}, ...]}: " +
                        std::string(error.what()));
    }
}

Result<Response> make_mix(RouteContext& context, const Call& call) {
    if (context.with.mixes == nullptr)
        return fail(ErrorCode::kUnavailable, "this gym-api makes no mixes");
    GYM_TRY(const MixOrder order, order_of(call));
    GYM_TRY(const MixProgress mix, context.with.mixes->mix(order));
    return json_response(mix.state == MixState::kMade ? 200 : 202,
                         json::serialize(to_json(mix, viewer_of(call))));
}

}  // namespace

std::string_view to_string(MixState state) noexcept {
    switch (state) {
        case MixState::kWaiting:
            return "waiting";
        case MixState::kMixing:
            return "mixing";
        case MixState::kMade:
            break;
    }
    return "made";
}

void add_mix_route(Router& router, RouteContext& context) {
    router.add(
        {.method = "POST",
         .pattern = "/v1/mixes",
         .id = "makeMix",
         .summary =
             "Makes a dataset of registered ones in given shares of its tokens (docs/DATA.md, "
             "Mixing); jobs on it pay the provider of each part. The same request gives the same "
             "dataset. 202: it is being made, ask again; 200: it is made. 403: a part's licence "
             "leaves training to its owner. 409: the tokens are registered as another dataset. "
             "422: the parts cannot be mixed so. 503: too many mixes wait, or another one of the "
             "owner does.",
         .needs_key = true,
         .body_type = "application/json",
         .body_schema = "MixRequest",
         .body_bytes_max = 1 << 16,
         .also_success = {202},
         .schema = "Mix",
         .run = [&context](const Call& call) { return make_mix(context, call); }});
}

}  // namespace gym::api
