#include "gym/chain/abi.hpp"

#include <gtest/gtest.h>

#include <random>

#include "ethereum_vectors.hpp"
#include "random_seed.hpp"

namespace gym::chain {
namespace {

using Kind = AbiType::Kind;

/// Reads a value as cast takes it: decimal, 0x.., true, text, [a,b], (a,b).
AbiValue parse_value(const AbiType& type, std::string_view text) {
    switch (type.kind) {
        case Kind::kUint:
            return Amount::parse(text).value();
        case Kind::kBool:
            return text == "true";
        case Kind::kAddress:
            return Address::parse(text).value();
        case Kind::kBytes:
        case Kind::kFixedBytes:
            return from_hex(text).value();
        case Kind::kString:
            return std::string(text);
        default:
            break;
    }
    AbiValue::List items;
    const std::string_view inner = text.substr(1, text.size() - 2);
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= inner.size() && !inner.empty(); ++i) {
        const char c = i == inner.size() ? ',' : inner[i];
        if (c == '(' || c == '[') ++depth;
        if (c == ')' || c == ']') --depth;
        if (c != ',' || depth != 0) continue;
        const AbiType& child =
            type.children[type.kind == Kind::kTuple ? items.size() : std::size_t{0}];
        items.push_back(parse_value(child, inner.substr(begin, i - begin)));
        begin = i + 1;
    }
    return items;
}

std::vector<AbiValue> arguments_of(const boost::json::value& vector,
                                   const AbiSignature& signature) {
    std::vector<AbiValue> out;
    const auto& texts = vector.as_object().at("arguments").as_array();
    for (std::size_t i = 0; i < texts.size(); ++i)
        out.push_back(parse_value(signature.inputs[i], std::string_view(texts[i].as_string())));
    return out;
}

TEST(Abi, EncodesAndDecodesAsCastDoes) {
    for (const auto& vector : testing::ethereum_vectors().at("abi").as_array()) {
        const auto signature = AbiSignature::parse(testing::text_at(vector, "signature")).value();
        const std::vector<AbiValue> arguments = arguments_of(vector, signature);
        const Bytes encoded = signature.encode_call(arguments).value();
        EXPECT_EQ(to_hex0x(encoded), testing::text_at(vector, "encoded")) << signature.text;
        const auto decoded = abi_decode(signature.inputs, ByteView(encoded).subspan(4));
        ASSERT_TRUE(decoded.ok()) << decoded.error().message;
        EXPECT_EQ(*decoded, arguments) << signature.text;
    }
}

TEST(Abi, AFlippedBitIsRefusedOrIsAnotherValue) {
    for (const auto& vector : testing::ethereum_vectors().at("abi").as_array()) {
        const auto signature = AbiSignature::parse(testing::text_at(vector, "signature")).value();
        const std::vector<AbiValue> arguments = arguments_of(vector, signature);
        Bytes encoded = testing::bytes_at(vector, "encoded");
        encoded.erase(encoded.begin(), encoded.begin() + 4);
        for (std::size_t bit = 0; bit < encoded.size() * 8; ++bit) {
            encoded[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
            const auto decoded = abi_decode(signature.inputs, encoded);
            EXPECT_FALSE(decoded.ok() && *decoded == arguments) << signature.text << " bit " << bit;
            encoded[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        }
    }
}

TEST(Abi, RefusesTruncatedAndOverlongData) {
    for (const auto& vector : testing::ethereum_vectors().at("abi").as_array()) {
        const auto signature = AbiSignature::parse(testing::text_at(vector, "signature")).value();
        const Bytes whole = testing::bytes_at(vector, "encoded");
        const ByteView data = ByteView(whole).subspan(4);
        for (std::size_t size = 0; size < data.size(); ++size)
            EXPECT_FALSE(abi_decode(signature.inputs, data.first(size)).ok());
        Bytes longer(data.begin(), data.end());
        longer.insert(longer.end(), 32, 0);
        EXPECT_FALSE(abi_decode(signature.inputs, longer).ok());
    }
}

TEST(Abi, AHugeLengthCostsNothing) {
    const auto types = AbiSignature::parse("f(uint256[],bytes)").value().inputs;
    Bytes data(32 * 4, 0);
    data[31] = 64;  // offset of the array
    data[63] = 96;  // offset of the bytes
    for (std::size_t i = 64; i < 96; ++i)
        data[i] = 0xff;  // length 2^256 - 1
    EXPECT_EQ(abi_decode(types, data).error().code, ErrorCode::kMalformed);
}

TEST(Abi, RefusesValuesThatDoNotFit) {
    const auto code = [](const char* types, std::vector<AbiValue> values) {
        return abi_encode(AbiSignature::parse(types).value().inputs, values).error().code;
    };
    EXPECT_EQ(code("f(uint8)", {std::uint64_t{256}}), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code("f(uint64)", {Amount::parse("18446744073709551616").value()}),
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(code("f(bytes4)", {Bytes{1, 2, 3}}), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code("f(address)", {std::uint64_t{1}}), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code("f(uint8[2])", {AbiValue::List{std::uint64_t{1}}}), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code("f(string)", {Bytes{1}}), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code("f(bool,bool)", {true}), ErrorCode::kInvalidArgument);
}

TEST(Abi, TypesRoundTripAndNonsenseIsRefused) {
    for (const char* text : {"uint8", "uint256", "address", "bool", "bytes32", "bytes", "string",
                             "uint64[]", "(address,uint64[3])[]", "((bool)[2][],bytes)"})
        EXPECT_EQ(AbiType::parse(text).value().to_string(), text);
    for (const char* text :
         {"", "uint", "uint7", "uint264", "uint08", "int256", "bytes0", "bytes33", "bytes1x",
          "address[", "address]", "(address", "()", "address[0]", "address[1025]", "address[-1]",
          "function", "(bool,)", "(bool))"})
        EXPECT_FALSE(AbiType::parse(text).ok()) << text;
    EXPECT_FALSE(AbiType::parse("bool[][][][][][][][][][]").ok()) << "bounded nesting";
    EXPECT_FALSE(AbiSignature::parse("noparentheses").ok());
    EXPECT_FALSE(AbiSignature::parse("(bool)").ok());
}

TEST(Abi, RandomBytesNeverDecodeToSomethingElse) {
    std::mt19937_64 random(testing::random_seed());
    const auto types =
        AbiSignature::parse("f((address,uint256,bytes32[])[],bytes,bool)").value().inputs;
    for (std::uint64_t i = 0; i < 5'000 * testing::test_scale(); ++i) {
        Bytes data(32 * (random() % 12), 0);
        for (std::size_t word = 0; word < data.size() / 32; ++word)
            data[word * 32 + 31] = static_cast<std::uint8_t>(random() % 8 * 32 + random() % 3);
        const auto decoded = abi_decode(types, data);
        EXPECT_TRUE(!decoded.ok() || abi_encode(types, *decoded).value() == data);
    }
}

TEST(Abi, AccessorsRefuseTheWrongKind) {
    EXPECT_FALSE(AbiValue(true).amount().ok());
    EXPECT_FALSE(AbiValue(std::uint64_t{1}).boolean().ok());
    EXPECT_FALSE(AbiValue(Bytes(31, 1)).digest().ok());
    EXPECT_FALSE(AbiValue(Amount::parse("18446744073709551616").value()).u64().ok());
    EXPECT_EQ(AbiValue(AbiValue::List{std::uint64_t{1}, "x", true}).to_string(),
              "[1, \"x\", true]");
}

}  // namespace
}  // namespace gym::chain
