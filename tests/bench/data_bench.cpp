// The steps of `gym data build`, one by one on one thread, and whole builds, in MB/s of text.
//
// Peers, from the same run: Python 3 (json, unicodedata, re, hashlib), which is what pipelines such
// as DataTrove are made of, and `sort -u` for exact duplicates. DataTrove itself is not in Debian.
// Languages have no peer, nor have builds on two threads; the peer of a build with steps is the sum
// of its parts in Python.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/data/build.hpp"
#include "gym/data/filters.hpp"

namespace {

using namespace gym;
using gym::bench::must;

constexpr std::size_t kDocuments = 12'000;
constexpr int kPeerMsMax = 600'000;

/// Sentences of words whose frequencies fall as in natural text; every tenth document is a copy,
/// and some have addresses.
std::vector<std::string> corpus() {
    std::mt19937_64 random(1);
    const std::vector<std::string> common{"the", "of",   "and",  "to",       "in",  "a",
                                          "is",  "that", "be",   "it",       "for", "was",
                                          "on",  "with", "have", "caf\u00e9"};
    std::vector<std::string> out;
    out.reserve(kDocuments);
    for (std::size_t i = 0; i < kDocuments; ++i) {
        if (i % 10 == 9) {
            out.push_back(out[random() % out.size()]);
            continue;
        }
        std::string text;
        for (int w = 0; w < 400; ++w) {
            const std::uint64_t pick = random();
            if (pick % 5 < 2) {
                text += common[pick / 8 % common.size()];
            } else {
                const double u = static_cast<double>(pick >> 11) * 0x1p-53;
                text += "word" + std::to_string(static_cast<std::uint64_t>(1.0 / (u + 1e-5)));
            }
            text += w % 12 == 11 ? ".\n" : " ";
        }
        if (i % 7 == 0)
            text += "Write to someone@example.org or call +49 30 901820 from 10.0.0.1.\n";
        out.push_back(std::move(text));
    }
    return out;
}

std::string json_line(const std::string& text) {
    std::string out = R"({"text":")";
    for (const char c : text)
        out += c == '\n' ? std::string("\\n") : std::string(1, c);
    return out + "\"}\n";
}

/// Seconds that a Python program prints, which times itself without its start.
double python_seconds(const std::string& setup, const std::string& body, const std::string& file) {
    const std::string program =
        "import time, json, re, hashlib, unicodedata\n"
        "texts = [json.loads(l)['text'] for l in open('" +
        file + "', encoding='utf-8')]\n" + setup + "\nstart = time.perf_counter()\n" + body +
        "\nprint(time.perf_counter() - start)\n";
    const auto said = must(run_command({.argv = {"/usr/bin/python3", "-c", program}}, kPeerMsMax));
    return std::strtod(said.c_str(), nullptr);
}

struct Case {
    std::string name;
    std::string peer_name;  ///< empty: none
    std::function<void(std::string&)> ours;
    std::string peer_setup, peer_body;
};

std::vector<Case> cases() {
    return {
        {"normalise", "Python unicodedata and re",
         [](std::string& text) { (void)data::normalise(text); },
         "controls = re.compile('[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ufeff]')\n"
         "ends = re.compile('[ \\t]+$', re.M)\nblank = re.compile('\\n{3,}')",
         "for t in texts:\n"
         "  t = unicodedata.normalize('NFC', controls.sub('', t.replace('\\r\\n', '\\n')))\n"
         "  t = blank.sub('\\n\\n', ends.sub('', t)).strip()"},
        {"gopher-quality", "Python str.split and sums of the same rules",
         [](std::string& text) { (void)data::gopher_quality(text); },
         "stop = {'the', 'be', 'to', 'of', 'and', 'that', 'have', 'with'}",
         "for t in texts:\n"
         "  w = t.split()\n  lines = t.split('\\n')\n"
         "  sum(map(len, w)) / len(w); (t.count('#') + t.count('...')) / len(w)\n"
         "  sum(l.startswith(('-', '*', '\u2022')) for l in lines)\n"
         "  sum(l.endswith(('...', '\u2026')) for l in lines)\n"
         "  sum(any(c.isalpha() for c in x) for x in w); len(stop.intersection(w))"},
        {"gopher-repetition", "Python collections.Counter of the same n-grams",
         [](std::string& text) { (void)data::gopher_repetition(text); },
         "from collections import Counter",
         "for t in texts:\n"
         "  w = t.split()\n  Counter(t.split('\\n')); Counter(t.split('\\n\\n'))\n"
         "  for n in range(2, 11):\n"
         "    Counter(zip(*[w[i:] for i in range(n)])).most_common(1)"},
        {"c4", "Python str methods and re of the same rules",
         [](std::string& text) { (void)data::c4(text); },
         "bad = re.compile('javascript|terms of use|privacy policy|cookie policy|uses cookies|"
         "use of cookies|use cookies')\n"
         "ends = ('.', '!', '?', '\"', '\u201d', '\\'')\n"
         "sentence = re.compile('[.!?][\"\u201d\\')]*(?:\\\\s|$)')",
         "for t in texts:\n"
         "  if '{' in t or 'lorem ipsum' in t.lower(): continue\n"
         "  kept = [l for l in t.split('\\n') if l.endswith(ends) and not l.endswith('...')\n"
         "          and len(l.split()) >= 5 and not bad.search(l.lower())]\n"
         "  len(sentence.findall('\\n'.join(kept))) >= 3"},
        {"language", "", [](std::string& text) { (void)data::language_of(text); }, "", ""},
        {"minhash", "Python re, hashlib and min of the same 5-grams and bins",
         [](std::string& text) { (void)data::band_keys(text, 1); },
         "word = re.compile(r'\\w+')\nempty = 1 << 32",
         "for t in texts:\n"
         "  w = [x.encode() for x in word.findall(t.lower())]\n  bins = [empty] * 112\n"
         "  for i in range(max(1, len(w) - 4)):\n"
         "    h = int.from_bytes(hashlib.blake2b(b' '.join(w[i:i + 5]), digest_size=8)"
         ".digest(), 'big')\n"
         "    b = ((h >> 32) * 112) >> 32\n    h &= 0xffffffff\n"
         "    if h < bins[b]: bins[b] = h\n"
         "  [hash(tuple(bins[i:i + 8])) for i in range(0, 112, 8)]"},
        {"mask", "Python re, e-mail and IPv4 only",
         [](std::string& text) { (void)data::mask(text); },
         "email = re.compile(r'[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}')\n"
         "ip = re.compile(r'\\b(?:\\d{1,3}\\.){3}\\d{1,3}\\b')",
         "for t in texts:\n  t = ip.sub('<ip>', email.sub('<email>', t))"},
    };
}

void report(const bench::Options& options, const std::string& name, double bytes, double seconds,
            double peer_seconds, const std::string& peer, int threads, const std::string& note) {
    bench::report(options, {.name = "data/" + name,
                            .ours = bytes / seconds * 1e-6,
                            .peer = bytes / peer_seconds * 1e-6,
                            .ratio = peer_seconds / seconds,
                            .unit = "MB/s",
                            .threads = threads,
                            .isa = std::string(kernels::isa_name(options.isa)),
                            .peer_name = peer,
                            .note = note});
}

double step_seconds(const Case& one, const std::vector<std::string>& texts) {
    std::vector<std::string> copies = texts;
    const double start = bench::seconds_now();
    for (std::string& text : copies)
        one.ours(text);
    return bench::seconds_now() - start;
}

double build_seconds(const std::string& steps, const std::filesystem::path& input,
                     const std::filesystem::path& output, int threads) {
    data::BuildOptions build;
    build.inputs = {input.string()};
    build.output = output;
    build.steps.steps = must(data::parse_steps(steps));
    build.encoder = []() -> Result<std::unique_ptr<data::Encoder>> { return data::byte_encoder(); };
    build.threads = static_cast<unsigned>(threads);
    const double start = bench::seconds_now();
    (void)must(data::build(build));
    return bench::seconds_now() - start;
}

/// The texts, in memory and as a file of JSON lines.
struct Corpus {
    std::vector<std::string> texts = corpus();
    double bytes = 0;
    std::filesystem::path folder;
    std::string file;
};

template <class Seconds>
double median_of(const bench::Options& options, Seconds&& seconds) {
    std::vector<double> all;
    for (int i = 0; i < options.repeats; ++i)
        all.push_back(seconds());
    return bench::median(all);
}

/// Seconds that the peers of the steps took, by the steps' names.
using PeerSeconds = std::map<std::string, double>;

PeerSeconds measure_steps(const bench::Options& options, const Corpus& corpus) {
    PeerSeconds peers;
    for (const Case& one : cases()) {
        if (!options.wants(one.name)) continue;
        std::vector<double> ours, peer;
        for (int i = 0; i < options.repeats; ++i) {  // in turns
            ours.push_back(step_seconds(one, corpus.texts));
            if (!one.peer_name.empty())
                peer.push_back(python_seconds(one.peer_setup, one.peer_body, corpus.file));
        }
        report(options, one.name, corpus.bytes, bench::median(ours),
               peer.empty() ? std::nan("") : bench::median(peer), one.peer_name, 1, "");
        if (!peer.empty()) peers[one.name] = bench::median(peer);
    }
    return peers;
}

void measure_exact_dedup(const bench::Options& options, const Corpus& corpus) {
    if (!options.wants("exact-dedup")) return;
    const double ours = median_of(options, [&] {
        return build_seconds("exact-dedup", corpus.file, corpus.folder / "out", 1);
    });
    const double sorted = median_of(options, [&] {
        const double start = bench::seconds_now();
        (void)must(run_command({.argv = {"sh", "-c",
                                         "LC_ALL=C sort -u '" + corpus.file + "' -o '" +
                                             (corpus.folder / "sorted").string() + "'"}},
                               kPeerMsMax));
        return bench::seconds_now() - start;
    });
    report(options, "exact-dedup", corpus.bytes, ours, sorted, "sort -u of the lines", 1,
           "a whole build with this step: JSON read, tokens and manifest written");
    const double hashed = median_of(options, [&] {
        return python_seconds("",
                              "seen = set()\nfor l in open('" + corpus.file +
                                  "', 'rb'):\n  seen.add(hashlib.sha256("
                                  "json.loads(l)['text'].encode()).digest())",
                              corpus.file);
    });
    report(options, "exact-dedup/python", corpus.bytes, ours, hashed, "Python json and hashlib", 1,
           "the peer writes nothing");
}

/// What a build without steps does, less the manifest and the tokens' root: read, encode, hash,
/// write.
double python_build_seconds(const Corpus& corpus) {
    return python_seconds("import array",
                          "with open('" + (corpus.folder / "peer").string() +
                              "', 'wb') as out:\n  for l in open('" + corpus.file +
                              "', 'rb'):\n    b = json.loads(l)['text'].encode()\n"
                              "    t = array.array('H')\n    t.extend(b)\n    t = t.tobytes()\n"
                              "    hashlib.sha256(b).digest(); hashlib.sha256(t).digest()\n"
                              "    out.write(t)",
                          corpus.file);
}

/// Of a build with these steps in Python: reading, tokens and hashes, by which exact duplicates are
/// found, and the steps one by one. NaN without the row of a step.
double python_sum(double build, const std::vector<std::string>& steps, const PeerSeconds& peers) {
    for (const std::string& step : steps) {
        const auto found = peers.find(step);
        build += found == peers.end() ? std::nan("") : found->second;
    }
    return build;
}

void measure_builds(const bench::Options& options, const Corpus& corpus, const PeerSeconds& peers) {
    if (!options.wants("build")) return;
    const double python = median_of(options, [&] { return python_build_seconds(corpus); });
    const std::vector<std::string> usual{"normalise", "minhash", "mask"};
    const std::vector<std::string> web{"normalise", "gopher-quality", "gopher-repetition",
                                       "minhash", "mask"};
    const std::map<std::string, double> of_preset{{"none", python},
                                                  {"default", python_sum(python, usual, peers)},
                                                  {"web", python_sum(python, web, peers)}};
    for (const std::string preset : {"none", "default", "web"})
        for (const int threads : options.threads) {
            const double peer = threads == 1 ? of_preset.at(preset) : std::nan("");
            const double ours = median_of(options, [&] {
                return build_seconds(preset, corpus.file, corpus.folder / "out", threads);
            });
            report(options, "build/" + preset, corpus.bytes, ours, peer,
                   std::isnan(peer)   ? ""
                   : preset == "none" ? "Python json, array and hashlib"
                                      : "the same and the steps above in Python, added up",
                   threads, "from JSON lines to tokens, manifest and roots");
        }
}

}  // namespace

int main(int argc, char** argv) {
    bench::Options options = bench::parse_options(argc, argv);
    if (options.output == bench::Options().output) options.output = "build/bench/data.json";
    const TemporaryFolder place = must(TemporaryFolder::create("gym-bench-data"));
    Corpus corpus;
    corpus.folder = place.path();
    corpus.file = (place / "corpus.jsonl").string();
    std::string lines;
    for (const std::string& text : corpus.texts) {
        lines += json_line(text);
        corpus.bytes += static_cast<double>(text.size());
    }
    must(write_file_atomic(corpus.file, as_bytes(lines)));
    const PeerSeconds peers = measure_steps(options, corpus);
    measure_exact_dedup(options, corpus);
    measure_builds(options, corpus, peers);
    return 0;
}
