// The tests of OpenCV 4.10 and FFmpeg 7.1 on Debian 13, which has them: `deno run -A tasks/debian13.ts [FILE…]`, as root
// on Debian.
//
// Debian 13's packages are unpacked into out/debian13, and the tests run with that folder as their root. The system's own
// packages and their lists stay as they are. It needs 1.6 GB.

import { fromFileUrl, join } from "@std/path";
import { runInRoot, unpackRoot } from "./setup/debian_root.ts";

const ROOT = fromFileUrl(new URL("../", import.meta.url));
const FOLDER = join(ROOT, "out/debian13");
const LIBRARIES = "usr/lib/x86_64-linux-gnu";

const root = await unpackRoot({
  folder: FOLDER,
  suite: "trixie",
  architecture: "amd64",
  packages: [
    ...["bash", "coreutils", "libc-bin", "g++", "ocl-icd-libopencl1", "pocl-opencl-icd", "libopencv-imgcodecs410"],
    ...["libopencv-core-dev", "libopencv-imgproc-dev", "libopencv-imgcodecs-dev"],
    ...["libavutil59", "libavcodec61", "libavformat61", "ffmpeg"],
  ],
  links: {
    ...{ "bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin" },
    "usr/bin/cc": "gcc", // what the packages' scripts would choose
    [`${LIBRARIES}/libblas.so.3`]: "blas/libblas.so.3",
    [`${LIBRARIES}/liblapack.so.3`]: "lapack/liblapack.so.3",
  },
});
await Deno.copyFile(Deno.execPath(), join(root, "usr/bin/deno"));

const home = Deno.env.get("DENO_DIR") ?? join(Deno.env.get("HOME")!, ".cache/deno");
const files = Deno.args.length > 0
  ? Deno.args
  : ["tests/opencv", "tests/guard/opencv_test.ts", "tests/abi/opencv_test.ts", "tests/ffmpeg"];
const tests = `exec deno test -A --no-check --v8-flags=--expose-gc ${files.join(" ")}`;
const line = `ldconfig; export DENO_DIR=${home} HOME=/tmp; ${tests}`;
const { code } = await runInRoot(root, { line, folders: [ROOT, home], cwd: ROOT });
Deno.exit(code);
