#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <set>

#include "fake_backend.hpp"
#include "gym/tokenizer/bundle.hpp"
#include "manual_clock.hpp"
#include "sample_profile.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using testing::FakeBackend;

/// A validator for what openapi_schemas() uses: $ref, type, properties, required, items, oneOf,
/// additionalProperties: false.
class Validator {
  public:
    explicit Validator(const json::object& document)
        : schemas_(document.at("components").at("schemas").as_object()) {}

    void check(const json::value& value, const json::object& schema, const std::string& where) {
        if (const auto* reference = schema.if_contains("$ref")) {
            const std::string name(reference->as_string());
            const std::string key = name.substr(name.rfind('/') + 1);
            ASSERT_TRUE(schemas_.contains(key)) << name;
            return check(value, schemas_.at(key).as_object(), where);
        }
        if (schema.contains("oneOf")) {
            if (value.is_null()) return;
            return check(value, schema.at("oneOf").as_array().at(0).as_object(), where);
        }
        ASSERT_TRUE(type_fits(value, schema.at("type")))
            << where << " = " << json::serialize(value);
        if (value.is_array()) {
            for (const auto& item : value.as_array())
                check(item, schema.at("items").as_object(), where + "[]");
        }
        if (value.is_object() && schema.contains("properties")) check_object(value, schema, where);
    }

  private:
    void check_object(const json::value& value, const json::object& schema,
                      const std::string& where) {
        const auto& properties = schema.at("properties").as_object();
        for (const auto& name : schema.at("required").as_array())
            EXPECT_TRUE(value.as_object().contains(name.as_string()))
                << where << " lacks " << name.as_string();
        for (const auto& item : value.as_object()) {
            ASSERT_TRUE(properties.contains(item.key())) << where << " has " << item.key();
            check(item.value(), properties.at(item.key()).as_object(),
                  where + "." + std::string(item.key()));
        }
    }

    static bool type_fits(const json::value& value, const json::value& type) {
        if (type.is_array()) {
            for (const auto& one : type.as_array())
                if (type_fits(value, one)) return true;
            return false;
        }
        const auto name = type.as_string();
        if (name == "null") return value.is_null();
        if (name == "string") return value.is_string();
        if (name == "boolean") return value.is_bool();
        if (name == "integer") return value.is_int64() || value.is_uint64();
        if (name == "number") return value.is_number();
        if (name == "array") return value.is_array();
        return name == "object" && value.is_object();
    }

    const json::object& schemas_;
};

std::string filled(std::string pattern) {
    for (const char* name :
         {"{address}", "{id}", "{root}", "{epoch}", "{round}", "{name}", "{version}"}) {
        const auto position = pattern.find(name);
        if (position == std::string::npos) continue;
        const std::string value =
            std::string_view(name) == "{address}" ? testing::address_of(1).hex()
            : std::string_view(name) == "{epoch}" || std::string_view(name) == "{round}" ||
                    std::string_view(name) == "{version}"
                ? "1"
            : std::string_view(name) == "{name}" ? "zoo-dataset-v2"
            : pattern.starts_with("/v1/transfers/")
                ? ledger::to_uuid(testing::sample_transfer_proof().transfer.id)
                : testing::digest_of(1).hex();
        pattern.replace(position, std::string_view(name).size(), value);
    }
    return pattern;
}

TEST(OpenApi, EveryAnswerHasTheDocumentedForm) {
    FakeBackend backend;
    const auto bundle = tokenizer::make_bundle({{"tokenizer.model", Bytes{1}}}).value();
    backend.edit_dataset = [&](registry::Dataset& dataset) {
        dataset.price_wei_per_mtoken = Amount();  // whose tokens everybody may read
        dataset.owner = testing::address_of(1);
        dataset.tokenizer = bundle.root;
    };
    gym::testing::ManualClock clock(1);
    ApiOptions options;
    options.network_profile = profile::to_json(
        profile::sign(profile::testing::sample_profile(), profile::testing::operator_key()));
    testing::FakeMixes mixes;
    Api api({backend, backend, backend, clock, &backend, &mixes}, options);
    const auto document = json::parse(openapi_json(api.router())).as_object();
    Validator validator(document);
    int checked = 0;
    for (const Route& route : api.router().routes()) {
        Request request{route.method, filled(route.pattern), {}, "x", "r"};
        if (route.id == "addDataset") request.target += "?name=n&licence=MIT";
        if (route.id == "putDatasetManifest")
            request.target += "?upload=" + testing::digest_of(1).hex();
        if (route.id == "nameDataset") request.target += "?root=" + testing::digest_of(1).hex();
        request.headers["authorization"] = std::string("Bearer ") + testing::kGoodKey;
        request.headers["idempotency-key"] = "k";
        request.headers["gym-order"] = testing::kJobSealText;
        if (route.id == "putDatasetTokenizer") {
            const Bytes files = tokenizer::encode_bundle(bundle);
            request.body.assign(files.begin(), files.end());
        }
        if (route.id == "makeMix")
            request.body = R"({"parts":[{"dataset":"a","weight":7},{"dataset":"b","weight":3}]})";
        if (route.id == "fundJob") request.body = "{\"amount_wei\":\"5\"}";
        if (route.body_schema == "ModelOffer")
            request.body = R"({"licence":"MIT","job":")" + testing::digest_of(1).hex() + "\"}";
        if (route.body_schema == "Access") request.body = "{\"visibility\":\"private\"}";
        if (route.begin) {  // the body goes to a sink
            request.headers["content-length"] = "1";
            request.headers["content-type"] = route.body_type;
            request.sink = api.admit(request).sink;
            ASSERT_NE(request.sink, nullptr) << route.id;
            ASSERT_TRUE(request.sink->write(as_bytes(request.body)).ok());
        }
        const Response response = api.handle(request);
        ASSERT_EQ(response.status, route.success) << route.id << ": " << response.body;
        EXPECT_EQ(response.content_type, route.answer_type) << route.id;
        if (route.schema.empty()) continue;
        validator.check(json::parse(response.body),
                        {{"$ref", "#/components/schemas/" + route.schema}}, route.id);
        ++checked;
    }
    EXPECT_GE(checked, 16);
}

TEST(OpenApi, EveryRouteStandsInTheDocumentWithItsSchemas) {
    FakeBackend backend;
    gym::testing::ManualClock clock(1);
    const Api api({backend, backend, backend, clock}, {});
    const auto document = json::parse(openapi_json(api.router())).as_object();
    const auto& schemas = document.at("components").at("schemas").as_object();
    const auto& paths = document.at("paths").as_object();
    const auto named = [&](const json::value& content, const std::string& type,
                           const std::string& schema) {
        const json::value& found = content.at(type).at("schema");
        if (schema.empty()) return found.as_object().contains("type");
        return found.at("$ref").as_string() == "#/components/schemas/" + schema &&
               schemas.contains(schema);
    };
    std::size_t operations = 0;
    for (const auto& path : paths)
        operations += path.value().as_object().size();
    EXPECT_EQ(operations, api.router().routes().size());
    for (const Route& route : api.router().routes()) {
        std::string method = route.method;
        std::ranges::transform(method, method.begin(),
                               [](unsigned char c) { return std::tolower(c); });
        const json::value& operation = paths.at(route.pattern).at(method);
        EXPECT_EQ(operation.at("operationId").as_string(), route.id);
        const json::object& responses = operation.at("responses").as_object();
        EXPECT_EQ(responses.size(), 2 + route.also_success.size()) << route.id;
        std::vector<unsigned> statuses = route.also_success;
        statuses.push_back(route.success);
        for (const unsigned status : statuses)
            EXPECT_TRUE(named(responses.at(std::to_string(status)).at("content"), route.answer_type,
                              route.schema))
                << route.id;
        EXPECT_TRUE(
            named(responses.at("default").at("content"), "application/problem+json", "Problem"));
        EXPECT_EQ(operation.as_object().contains("security"), route.needs_key || route.takes_key)
            << route.id;
        // A key that may be left out is one of two ways, the first of which is none.
        const std::size_t ways = route.needs_key ? 1 : route.takes_key ? 2 : 0;
        const auto* security = operation.as_object().if_contains("security");
        EXPECT_EQ(security == nullptr ? 0 : security->as_array().size(), ways) << route.id;
        ASSERT_EQ(operation.as_object().contains("requestBody"), !route.body_type.empty());
        if (!route.body_type.empty()) {
            EXPECT_TRUE(named(operation.at("requestBody").at("content"), route.body_type,
                              route.body_schema))
                << route.id;
        }
        EXPECT_EQ(operation.at("parameters").as_array().size(),
                  route.path.size() + route.query.size() + route.headers.size());
    }
}

TEST(OpenApi, ANetworkWithoutAProfileSaysSo) {
    FakeBackend backend;
    gym::testing::ManualClock clock(1);
    Api api({backend, backend, backend, clock}, {});
    const Response response = api.handle({"GET", "/v1/network/profile", {}, "", "r"});
    EXPECT_EQ(response.status, 404U);
    EXPECT_NE(response.body.find("publishes no profile"), std::string::npos) << response.body;
}

TEST(OpenApi, ProblemsHaveTheDocumentedForm) {
    FakeBackend backend;
    gym::testing::ManualClock clock(1);
    Api api({backend, backend, backend, clock}, {});
    const auto document = json::parse(openapi_json(api.router())).as_object();
    const Response response = api.handle({"GET", "/nowhere", {}, "", "r"});
    Validator(document).check(json::parse(response.body),
                              {{"$ref", "#/components/schemas/Problem"}}, "problem");
}

TEST(OpenApi, NamesAreUniqueAndParametersDeclared) {
    FakeBackend backend;
    gym::testing::ManualClock clock(1);
    const Api api({backend, backend, backend, clock}, {});
    std::set<std::string> ids;
    for (const Route& route : api.router().routes()) {
        EXPECT_TRUE(ids.insert(route.id).second) << route.id;
        EXPECT_FALSE(route.summary.empty()) << route.id;
        for (const Parameter& parameter : route.path)
            EXPECT_NE(route.pattern.find("{" + parameter.name + "}"), std::string::npos)
                << route.id;
        const auto braces = std::count(route.pattern.begin(), route.pattern.end(), '{');
        EXPECT_EQ(static_cast<std::size_t>(braces), route.path.size()) << route.id;
    }
}

}  // namespace
}  // namespace gym::api
