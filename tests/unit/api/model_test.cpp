// A job's model for its owner: which one, whose, and in pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>
#include <functional>

#include "fake_backend.hpp"
#include "gym/api/api.hpp"
#include "gym/commit/codec.hpp"
#include "manual_clock.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using testing::digest_of;

/// A state of two tensors, as docs/PROTOCOL.md has it.
Bytes state_bytes(std::uint8_t first) {
    commit::Encoder out;
    out.raw(as_bytes("GYMSTAT2")).u32(1).u32(2);
    out.string("a.weight").u8(1).u8(2).u64(2).u64(3);
    out.string("b").u8(1).u8(1).u64(1);
    Bytes bytes = out.take();
    bytes.resize(3 * 1024);
    for (std::size_t i = 0; i < 24; ++i)
        bytes[1024 + i] = static_cast<std::uint8_t>(first + i);
    std::ranges::copy(Bytes{201, 202, 203, 204}, bytes.begin() + 2048);
    return bytes;
}

class ModelTest : public ::testing::Test {
  protected:
    void SetUp() override {
        program_ = backend_.blobs.put(as_bytes("the program")).value();
        for (std::uint8_t round = 0; round < 3; ++round)
            states_.push_back(
                backend_.blobs.put(state_bytes(static_cast<std::uint8_t>(round * 30))).value());
        backend_.edit_job = [this](JobView& view) {
            view.job.terms.rounds = 5;
            view.job.dataset_root = digest_of(77);
            view.job.artifacts->program_root = digest_of(50);
            view.job.artifacts->program_blob = program_;
            view.job.artifacts->base_state_root = digest_of(60);
            view.job.artifacts->base_state_blob = states_[0];
            view.job.access = access_;
            view.rounds.clear();
            for (std::uint8_t number = 1; number <= 3; ++number) {
                registry::Round round;
                round.round = number;
                if (number < 3) {
                    round.next_base = registry::StateRef{
                        digest_of(static_cast<std::uint8_t>(60 + number)), states_[number]};
                    round.validation_loss = 4.0 - number;
                }
                view.rounds.push_back(round);
            }
            if (edit) edit(view);
        };
    }

    Response get(const std::string& what,
                 std::map<std::string, std::string, std::less<>> headers = {},
                 const std::string& method = "GET", const char* key = testing::kGoodKey) {
        if (key != nullptr) headers["authorization"] = std::string("Bearer ") + key;
        const Request request{method,
                              "/v1/jobs/" + digest_of(1).hex() + "/model" + what,
                              std::move(headers),
                              {},
                              "req"};
        auto admission = api_.admit(request);
        return admission.refused ? *admission.refused : api_.handle(request);
    }
    static json::object object_of(const Response& response) {
        return json::parse(response.body).as_object();
    }
    static std::string header(const Response& response, std::string_view name) {
        for (const auto& [key, value] : response.headers)
            if (key == name) return value;
        return {};
    }
    static Bytes content(const Response& response) {
        if (!response.stream) return {};
        Bytes bytes(response.stream->size);
        EXPECT_TRUE(response.stream->source->read(response.stream->offset, bytes).ok());
        return bytes;
    }

    testing::FakeBackend backend_;
    std::function<void(JobView&)> edit;
    registry::Access access_;  ///< private
    Digest program_;
    std::vector<Digest> states_;
    gym::testing::ManualClock clock_{20'000};
    Api api_{{backend_, backend_, backend_, clock_}, {}};
};

TEST_F(ModelTest, SaysWhoWroteTheTokenizersFiles) {
    const auto owner = [&] {
        return object_of(get("")).at("datasets").as_array().at(0).at("tokenizer_owner");
    };
    EXPECT_EQ(object_of(get("")).at("owner").as_string(), testing::address_of(1).hex());
    EXPECT_TRUE(owner().is_null()) << "nobody";
    ASSERT_TRUE(backend_.add_dataset_tokenizer(digest_of(77), as_bytes("files")).ok());
    backend_.edit_dataset = [](registry::Dataset& dataset) {
        dataset.owner = testing::address_of(4);
    };
    EXPECT_EQ(owner().as_string(), testing::address_of(4).hex());
    // Of a mix, whose maker wrote none of them.
    ASSERT_TRUE(backend_.add_dataset_tokenizer(digest_of(79), as_bytes("files")).ok());
    backend_.edit_dataset = [](registry::Dataset& dataset) {
        if (dataset.root != digest_of(77)) return;
        dataset.parts = {{digest_of(78), 5, 1, testing::address_of(5)},
                         {digest_of(79), 5, 1, testing::address_of(6)}};
    };
    EXPECT_EQ(owner().as_string(), testing::address_of(6).hex());
}

TEST_F(ModelTest, TheNewestRoundOrTheOneThatIsAskedFor) {
    const auto newest = object_of(get(""));
    EXPECT_EQ(newest.at("round").to_number<int>(), 2);
    EXPECT_EQ(newest.at("newest_round").to_number<int>(), 2);
    EXPECT_EQ(newest.at("rounds").to_number<int>(), 5);
    EXPECT_EQ(newest.at("state").at("root").as_string(), digest_of(62).hex());
    EXPECT_EQ(newest.at("state").at("blob").as_string(), states_[2].hex());
    EXPECT_EQ(newest.at("state").at("bytes").to_number<std::size_t>(), state_bytes(0).size());
    EXPECT_EQ(newest.at("program").at("root").as_string(), digest_of(50).hex());
    EXPECT_EQ(newest.at("program").at("bytes").to_number<int>(), 11);
    EXPECT_EQ(newest.at("losses").as_array().size(), 2U);
    EXPECT_EQ(newest.at("datasets").as_array().at(0).at("root").as_string(), digest_of(77).hex());
    EXPECT_EQ(newest.at("datasets").as_array().at(0).at("licence").as_string(), "CC0-1.0");
    const auto first = object_of(get("?round=1"));
    EXPECT_EQ(first.at("state").at("root").as_string(), digest_of(61).hex());
    EXPECT_EQ(first.at("losses").as_array().size(), 1U) << "what comes later is not of this model";
    EXPECT_EQ(object_of(get("?round=0")).at("state").at("root").as_string(), digest_of(60).hex());
    EXPECT_EQ(content(get("/state?round=1")), state_bytes(30));
    EXPECT_EQ(content(get("/state")), state_bytes(60));
    EXPECT_EQ(content(get("/program")),
              Bytes({'t', 'h', 'e', ' ', 'p', 'r', 'o', 'g', 'r', 'a', 'm'}));
}

TEST_F(ModelTest, ARoundWithoutWeightsIsNotFoundAndSaysWhichHasSome) {
    for (const char* round : {"3", "4", "6", "1000000"}) {
        const Response response = get(std::string("/state?round=") + round);
        EXPECT_EQ(response.status, 404U) << round;
        EXPECT_NE(response.body.find("the newest are those after round 2 of 5"), std::string::npos)
            << response.body;
    }
    EXPECT_EQ(get("?round=x").status, 400U);
    EXPECT_EQ(get("?round=-1").status, 400U);
    edit = [](JobView& view) { view.job.artifacts.reset(); };
    EXPECT_EQ(get("").status, 409U) << "nothing is prepared yet";
}

TEST_F(ModelTest, ARoundThatWasPrunedSaysWhichAreKept) {
    edit = [](JobView& view) { view.kept_rounds = {0, 2}; };
    backend_.lost = states_[1];
    for (const char* what : {"?round=1", "/state?round=1", "/weights.safetensors?round=1"}) {
        const Response response = get(what);
        EXPECT_EQ(response.status, 404U) << what;
        EXPECT_NE(response.body.find("the weights after round 1 were pruned when the round was "
                                     "final; those that are kept are after rounds 0, 2 (0: before "
                                     "any training)"),
                  std::string::npos)
            << response.body;
    }
    EXPECT_EQ(get("?round=2").status, 200U);
    backend_.lost = states_[2];
    EXPECT_EQ(get("?round=2").body.find("pruned"), std::string::npos) << "it was lost";
}

TEST_F(ModelTest, WeightsAreTheirOwnersAlone) {
    for (const char* what : {"", "/program", "/state", "/weights.safetensors"}) {
        EXPECT_EQ(get(what, {}, "GET", nullptr).status, 401U) << what;
        EXPECT_EQ(get(what, {}, "GET", "gym_wrong").status, 401U) << what;
        const Response other = get(what, {}, "GET", testing::kOtherKey);
        EXPECT_EQ(other.status, 404U) << what;
        EXPECT_FALSE(other.stream.has_value());
        EXPECT_EQ(other.body.find(states_[2].hex()), std::string::npos);
    }
}

TEST_F(ModelTest, WeightsAreForThoseWhomTheOwnerLetsSeeThem) {
    access_ = {registry::Visibility::kAllowList, {testing::address_of(2)}};
    EXPECT_EQ(content(get("/state", {}, "GET", testing::kOtherKey)), state_bytes(60));
    access_.allowed = {testing::address_of(3)};
    EXPECT_EQ(get("/state", {}, "GET", testing::kOtherKey).status, 404U);
    access_ = {registry::Visibility::kPublic, {}};
    EXPECT_EQ(content(get("/state", {}, "GET", testing::kOtherKey)), state_bytes(60));
    EXPECT_EQ(get("/state", {}, "GET", nullptr).status, 401U);
}

TEST_F(ModelTest, AModelNamesItsDataOnlyToThoseWhoMaySeeIt) {
    access_ = {registry::Visibility::kPublic, {}};
    backend_.edit_dataset = [](registry::Dataset& dataset) {
        dataset.owner = testing::address_of(1);
        dataset.access = {registry::Visibility::kPrivate, {}};
    };
    const auto data = [&](const char* key) {
        return object_of(get("", {}, "GET", key)).at("datasets").as_array().at(0).as_object();
    };
    EXPECT_EQ(data(testing::kGoodKey).at("name").as_string(), "sample");
    EXPECT_EQ(data(testing::kOtherKey).at("name").as_string(), "");
    EXPECT_EQ(data(testing::kOtherKey).at("licence").as_string(), "CC0-1.0");
}

TEST_F(ModelTest, ARangeIsAPartOfTheBytes) {
    const Bytes all = state_bytes(60);
    const std::uint64_t size = all.size();
    struct Case {
        std::string range;
        std::uint64_t first, bytes;
    };
    const std::string end = std::to_string(size);
    const std::vector<Case> cases{{"bytes=0-0", 0, 1},
                                  {"bytes=5-9", 5, 5},
                                  {"bytes=5-", 5, size - 5},
                                  {"bytes=-4", size - 4, 4},
                                  {"bytes=-100000", 0, size},
                                  {"bytes=0-100000", 0, size},
                                  {"bytes=" + std::to_string(size - 1) + "-", size - 1, 1}};
    for (const Case& one : cases) {
        const Response response = get("/state", {{"range", one.range}});
        ASSERT_EQ(response.status, 206U) << one.range;
        EXPECT_EQ(header(response, "Content-Range"), "bytes " + std::to_string(one.first) + "-" +
                                                         std::to_string(one.first + one.bytes - 1) +
                                                         "/" + end);
        const Bytes part = content(response);
        EXPECT_TRUE(std::ranges::equal(part, ByteView(all).subspan(one.first, one.bytes)))
            << one.range;
    }
    for (const std::string& behind :
         {"bytes=" + end + "-", std::string("bytes=100000-100001"), std::string("bytes=-0")}) {
        const Response response = get("/state", {{"range", behind}});
        EXPECT_EQ(response.status, 416U) << behind;
        EXPECT_EQ(header(response, "Content-Range"), "bytes */" + end);
        EXPECT_EQ(response.content_type, "application/problem+json");
    }
    // RFC 9110: what is not understood, or of another entity, is answered with everything.
    for (const char* range : {"bytes=0-1,5-6", "bytes=9-5", "bytes=a-b", "lines=1-2",
                              "bytes=", "bytes=-", "bytes=18446744073709551616-", "bytes=1-2-3"}) {
        const Response response = get("/state", {{"range", range}});
        EXPECT_EQ(response.status, 200U) << range;
        EXPECT_EQ(content(response), all) << range;
    }
}

TEST_F(ModelTest, TheETagIsTheRootOfTheBytes) {
    const Response response = get("/state?round=1");
    EXPECT_EQ(header(response, "ETag"), "\"" + states_[1].hex() + "\"");
    EXPECT_EQ(header(response, "Accept-Ranges"), "bytes");
    const std::string same = header(response, "ETag");
    EXPECT_EQ(get("/state?round=1", {{"range", "bytes=1-2"}, {"if-range", same}}).status, 206U);
    EXPECT_EQ(get("/state?round=2", {{"range", "bytes=1-2"}, {"if-range", same}}).status, 200U)
        << "a download of round 1 cannot continue with round 2";
    const Response head = get("/state", {{"range", "bytes=1-2"}}, "HEAD");
    EXPECT_EQ(head.status, 200U) << "a range is for GET alone";
    EXPECT_EQ(head.stream->size, state_bytes(0).size());
}

TEST_F(ModelTest, TheWeightsAreASafetensorsFile) {
    const Bytes file = content(get("/weights.safetensors"));
    ASSERT_GT(file.size(), 8U);
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
    ASSERT_LE(header_bytes, file.size() - 8);
    EXPECT_EQ(header_bytes % 8, 0U);
    const auto header =
        json::parse({reinterpret_cast<const char*>(file.data()) + 8, header_bytes}).as_object();
    EXPECT_EQ(header.at("__metadata__").at("format").as_string(), "pt");
    EXPECT_EQ(header.at("__metadata__").at("gym.base_root").as_string(), digest_of(62).hex());
    EXPECT_EQ(header.at("a.weight").at("dtype").as_string(), "F32");
    EXPECT_EQ(json::serialize(header.at("a.weight").at("shape")), "[2,3]");
    EXPECT_EQ(json::serialize(header.at("a.weight").at("data_offsets")), "[0,24]");
    EXPECT_EQ(json::serialize(header.at("b").at("data_offsets")), "[24,28]");
    const ByteView data = ByteView(file).subspan(8 + header_bytes);
    ASSERT_EQ(data.size(), 28U);
    EXPECT_EQ(data[0], 60);
    EXPECT_EQ(data[23], 83);
    EXPECT_EQ(data[24], 201);
    // Any cut of it is the same bytes: over the header's end and a tensor's.
    for (std::uint64_t first = 0; first < file.size(); ++first) {
        const std::uint64_t last = std::min<std::uint64_t>(first + 30, file.size() - 1);
        const Response part =
            get("/weights.safetensors",
                {{"range", "bytes=" + std::to_string(first) + "-" + std::to_string(last)}});
        ASSERT_EQ(part.status, 206U);
        const Bytes bytes = content(part);
        ASSERT_TRUE(std::ranges::equal(bytes, ByteView(file).subspan(first, last - first + 1)))
            << first;
    }
}

TEST_F(ModelTest, AStoredStateThatIsCutIsNoSafetensorsFile) {
    for (const std::size_t size : {0U, 7U, 12U, 40U, 60U}) {
        Bytes cut = state_bytes(0);
        cut.resize(size);
        const Digest blob = backend_.blobs.put(cut).value();
        edit = [&](JobView& view) { view.rounds[1].next_base->blob = blob; };
        EXPECT_EQ(get("/weights.safetensors").status, 400U) << size;
    }
}

}  // namespace
}  // namespace gym::api
