#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "gym/common/file.hpp"
#include "gym/data/byte_source.hpp"
#include "gym/data/input.hpp"
#include "must.hpp"
#include "temporary_folder.hpp"

namespace gym::data {
namespace {

using testing::must;

std::string gzipped(const std::string& text) {
    z_stream stream{};
    EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(::deflateBound(&stream, text.size()) + 64, '\0');
    std::string in = text;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    return out;
}

std::string zstd_compressed(const std::string& text) {
    std::string out(::ZSTD_compressBound(text.size()), '\0');
    out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
    return out;
}

class ReadersTest : public ::testing::Test {
  protected:
    std::filesystem::path put(const std::string& name, const std::string& content) {
        const auto path = place_ / name;
        std::filesystem::create_directories(path.parent_path());
        must(write_file_atomic(path, as_bytes(content)));
        return path;
    }
    Result<std::string> all_of(const std::filesystem::path& path) {
        GYM_TRY(const auto source, open_bytes(path));
        std::string out;
        std::array<std::uint8_t, 1000> part{};
        while (true) {
            GYM_TRY(const std::size_t got, source->read(part));
            if (got == 0) return out;
            out.append(reinterpret_cast<const char*>(part.data()), got);
        }
    }
    Result<std::vector<Record>> records(const std::filesystem::path& path,
                                        const ReaderOptions& options = {}) {
        GYM_TRY(const auto inputs, expand_local(path, options));
        GYM_TRY(const auto reader, open_records(inputs.at(0), path, options));
        std::vector<Record> out;
        Record record;
        while (true) {
            GYM_TRY(const bool more, reader->next(record));
            if (!more) return out;
            out.push_back(record);
        }
    }
    testing::TemporaryFolder place_;
};

std::vector<std::string> texts(const std::vector<Record>& records) {
    std::vector<std::string> out;
    for (const Record& record : records)
        out.push_back(record.bytes);
    return out;
}

std::string long_text() {
    std::string out;
    for (int i = 0; i < 100'000; ++i)
        out += "line " + std::to_string(i * 7919 % 100'003) + "\n";
    return out;
}

TEST_F(ReadersTest, CompressedFilesReadAsTheirContent) {
    const std::string text = long_text();
    EXPECT_EQ(must(all_of(put("a", text))), text);
    EXPECT_EQ(must(all_of(put("a.gz", gzipped(text)))), text);
    EXPECT_EQ(must(all_of(put("a.zst", zstd_compressed(text)))), text);
    // Members and frames that follow each other, as from `cat`; no name needed.
    EXPECT_EQ(must(all_of(put("b", gzipped("one ") + gzipped("") + gzipped("two")))), "one two");
    EXPECT_EQ(must(all_of(put("c", zstd_compressed("one ") + zstd_compressed("two")))), "one two");
    EXPECT_EQ(must(all_of(put("empty", ""))), "");
}

TEST_F(ReadersTest, ACutOrDamagedStreamIsAnErrorAtEveryLength) {
    const std::string text = "some text that is compressed, some text that is compressed";
    for (const std::string& whole : {gzipped(text), zstd_compressed(text)}) {
        for (std::size_t size = 4; size < whole.size(); ++size) {
            const auto read = all_of(put("cut", whole.substr(0, size)));
            ASSERT_FALSE(read.ok()) << size;
            EXPECT_EQ(read.error().code, ErrorCode::kMalformed);
        }
    }
    std::string damaged = gzipped(long_text());
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    EXPECT_EQ(all_of(put("damaged", damaged)).error().code, ErrorCode::kMalformed);
}

TEST_F(ReadersTest, ANameThatPromisesCompressionIsHeldToIt) {
    EXPECT_EQ(open_bytes(put("a.gz", "plain")).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(open_bytes(put("a.zst", "plain")).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(open_bytes(place_ / "none").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(open_bytes(place_.path()).error().code, ErrorCode::kIo);
}

TEST_F(ReadersTest, ATextIsOneDocumentOrOneBetweenBlankLinesOrOneALine) {
    const auto path = put("a.txt", "one\ntwo\n\n \r\nthree\n\n\nfour");
    EXPECT_EQ(texts(must(records(path))),
              (std::vector<std::string>{"one\ntwo\n\n \r\nthree\n\n\nfour"}));
    ReaderOptions options;
    options.text_unit = TextUnit::kBlankLines;
    const auto paragraphs = must(records(path, options));
    EXPECT_EQ(texts(paragraphs), (std::vector<std::string>{"one\ntwo", "three", "four"}));
    EXPECT_EQ(paragraphs[1].number, 5U);  // the line that it begins in
    options.text_unit = TextUnit::kLine;
    EXPECT_EQ(texts(must(records(path, options))),
              (std::vector<std::string>{"one", "two", "three", "four"}));
}

TEST_F(ReadersTest, ATextThatIsTooLongForOneDocumentNamesTheRemedy) {
    const auto path = put("a.txt", std::string(kDocumentBytesMax + 1, 'x'));
    const auto refused = records(path);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(refused.error().message.find("--documents blank-lines"), std::string::npos);
}

TEST_F(ReadersTest, NamesDecideAboutFormats) {
    EXPECT_EQ(format_of("a.jsonl"), Format::kJsonLines);
    EXPECT_EQ(format_of("a.ndjson.zst"), Format::kJsonLines);
    EXPECT_EQ(format_of("a.json.gz"), Format::kJsonLines);
    EXPECT_EQ(format_of("a.parquet"), Format::kParquet);
    EXPECT_EQ(format_of("a.txt.gz"), Format::kText);
    EXPECT_EQ(format_of("README"), Format::kText);
    EXPECT_EQ(must(format_of("a.txt", {.format = "jsonl"})), Format::kJsonLines);
    EXPECT_EQ(format_of("a", ReaderOptions{.format = "csv"}).error().code,
              ErrorCode::kInvalidArgument);
}

TEST_F(ReadersTest, AFolderIsItsKnownFilesInBytewiseOrder) {
    put("d/b.txt", "b");
    put("d/a/z.jsonl.gz", gzipped("{}"));
    put("d/B.txt", "B");
    put("d/image.png", "no text");
    put("d/.hidden.txt", "hidden");
    put("d/.git/x.txt", "hidden");
    std::vector<std::string> names;
    for (const Input& input : must(expand_local(place_ / "d", {})))
        names.push_back(input.name);
    EXPECT_EQ(names, (std::vector<std::string>{"B.txt", "a/z.jsonl.gz", "b.txt"}));
    std::filesystem::create_directory(place_ / "none");
    EXPECT_EQ(expand_local(place_ / "none", {}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(expand_local(place_ / "nowhere", {}).error().code, ErrorCode::kNotFound);
}

Document of_json(const std::string& line) {
    return must(document_of_json({line, 1}, {}));
}

TEST(DocumentOfJson, TakesTextAndProvenance) {
    const Document document = of_json(
        R"({"text":"a\nb","id":7,"url":"https://x.org/","license":["MIT","CC0-1.0"],"other":1})");
    EXPECT_EQ(document.text, "a\nb");
    EXPECT_EQ(document.provenance.id, "7");
    EXPECT_EQ(document.provenance.url, "https://x.org/");
    EXPECT_EQ(document.provenance.licence, "MIT AND CC0-1.0");
    EXPECT_FALSE(document.provenance.opted_out);
    EXPECT_EQ(of_json(R"({"content":"c","meta":{"url":"u"}})").provenance.url, "u");
}

TEST(DocumentOfJson, ConsentThatIsRefusedIsAnOptOut) {
    EXPECT_TRUE(of_json(R"({"text":"a","opt_out":true})").provenance.opted_out);
    EXPECT_TRUE(of_json(R"({"text":"a","noai":1})").provenance.opted_out);
    EXPECT_TRUE(of_json(R"({"text":"a","consent":false})").provenance.opted_out);
    const Provenance given = of_json(R"({"text":"a","consent":true,"opt_out":null})").provenance;
    EXPECT_FALSE(given.opted_out);
    EXPECT_TRUE(given.consented);
    EXPECT_FALSE(of_json(R"({"text":"a"})").provenance.consented) << "nobody said so";
}

TEST(DocumentOfJson, RefusesWhatHasNoText) {
    for (const char* line :
         {"", "{", "[]", R"({"txt":"a"})", R"({"text":7})", "{\"text\":\"\xff\"}"}) {
        const auto refused = document_of_json({line, 1}, {});
        ASSERT_FALSE(refused.ok()) << line;
        EXPECT_EQ(refused.error().code, ErrorCode::kMalformed);
    }
    const auto named = document_of_json({R"({"txt":"a"})", 1}, {});
    EXPECT_NE(named.error().message.find("--text-key"), std::string::npos);
}

}  // namespace
}  // namespace gym::data
