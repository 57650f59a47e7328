# Third-party libraries, each found once. A module links what it needs and nothing else does.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)

if(NOT GYM_ENGINE_ONLY)
    find_package(PkgConfig REQUIRED)
    find_package(Boost 1.81 REQUIRED COMPONENTS json url)
    find_package(Protobuf REQUIRED)
    find_package(gRPC REQUIRED CONFIG)
    find_package(fmt REQUIRED)
    find_package(spdlog REQUIRED)
    find_package(yaml-cpp REQUIRED)
    find_package(CLI11 REQUIRED)
    find_package(SQLite3 REQUIRED)
    find_package(ICU 70 REQUIRED COMPONENTS i18n uc)
    pkg_check_modules(secp256k1 REQUIRED IMPORTED_TARGET libsecp256k1)
    pkg_check_modules(cryptopp REQUIRED IMPORTED_TARGET libcrypto++)
    # Not by pkg-config: that would also link its trainer, which only tests use.
    find_path(GYM_SENTENCEPIECE_INCLUDE sentencepiece_processor.h REQUIRED)
    find_library(GYM_SENTENCEPIECE_LIBRARY sentencepiece REQUIRED)
    find_library(GYM_SENTENCEPIECE_TRAIN_LIBRARY sentencepiece_train REQUIRED)
    # Debian's package of libtorrent's headers excludes that of Boost 1.81, so scripts/setup.sh unpacks it, with Boost
    # 1.74, into a folder of its own; other systems may have both where headers usually are.
    find_path(GYM_LIBTORRENT_INCLUDE libtorrent/session.hpp PATHS /opt/gym-libtorrent/usr/include)
    find_library(GYM_LIBTORRENT_LIBRARY NAMES torrent-rasterbar libtorrent-rasterbar.so.2.0)
    if(NOT GYM_LIBTORRENT_INCLUDE OR NOT GYM_LIBTORRENT_LIBRARY)
        message(FATAL_ERROR "libtorrent-rasterbar 2.0 is missing (headers: ${GYM_LIBTORRENT_INCLUDE}, library: "
                            "${GYM_LIBTORRENT_LIBRARY}): run scripts/setup.sh, or name GYM_LIBTORRENT_INCLUDE and "
                            "GYM_LIBTORRENT_LIBRARY")
    endif()
    # The data pipeline: decompression, downloads, Unicode, languages, hashes, patterns.
    find_package(ZLIB REQUIRED)
    find_package(CURL REQUIRED)
    pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
    pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
    find_library(GYM_CLD2_LIBRARY cld2 REQUIRED)
    find_library(GYM_RE2_LIBRARY re2 REQUIRED)  # not its target, whose -pthread the precompiled header lacks
    pkg_check_modules(pqxx REQUIRED IMPORTED_TARGET libpqxx)
endif()
if(GYM_WITH_TORCH)
    find_package(Torch QUIET)
    if(NOT Torch_FOUND)
        message(STATUS "libtorch not found: the checks against autograd are not built")
    elseif(TORCH_CXX_FLAGS MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
        if(NOT GYM_ENGINE_ONLY OR GYM_BUILD_TESTS)
            message(FATAL_ERROR "this libtorch has the old std::string, which gRPC, Boost and GoogleTest here have not: take "
                                "one with the C++11 ABI, or GYM_ENGINE_ONLY=ON and GYM_BUILD_TESTS=OFF, or GYM_WITH_TORCH=OFF")
        endif()
        add_compile_definitions(_GLIBCXX_USE_CXX11_ABI=0)
    endif()
endif()
if(GYM_BUILD_TESTS)
    find_package(GTest REQUIRED)
endif()
