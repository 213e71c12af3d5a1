import { AccessError, DisposedError, host, LayoutError, type Tensor } from "@samepage/interop";
import { type OpenCVTensor, ReallocatedError } from "@samepage/interop/opencv";
import { fails, say } from "../kit.ts";
import { eye, made, onBoth, photo, resultOf, type Vision, vision, work } from "../opencv.ts";
import { type Row, table } from "../row.ts";

/** Has OpenCV put a result of another size into an output; what a program then does with that. */
function reallocated(use: (v: Vision, output: OpenCVTensor, small: Tensor) => unknown, says: string[] = []): Row {
  return {
    opencl: true,
    says: [...says, ...says], // on a Mat, and on a UMat
    run() {
      using v = vision();
      onBoth(v, (map) => {
        using large = photo(64, 64);
        const small = photo(32, 32);
        using input = map(large);
        const output = map(small);
        v.cv.GaussianBlur(input, output, [3, 3], { reallocate: true });
        use(v, output, small);
        small[Symbol.dispose]();
      });
    },
  };
}

export default table(import.meta, {
  "a view of a result in OpenCV's own buffer, moved away": {
    opencl: true,
    warns: /its memory is kept for good/,
    leaves: true,
    run() {
      using v = vision();
      const { cl, cv, graph } = v;
      using large = cl.allocate({ shape: [512, 512], dtype: "u8" });
      const small = cl.allocate({ shape: [8, 8], dtype: "u8" });
      using input = graph.map(large, cv.umat);
      const output = graph.map(small, cv.umat);
      cv.resize(input, output, [1024, 1024], { reallocate: true });
      const result = resultOf(() => output[Symbol.dispose]());
      small[Symbol.dispose]();
      const onHost = graph.map(result, host);
      const moved = onHost.view().buffer.transfer();
      onHost[Symbol.dispose]();
      result[Symbol.dispose]();
      for (let i = 0; i < 40; i++) {
        using other = cl.allocate({ shape: [1 << 20], dtype: "u8" });
        cl.queue.fill(other, 1);
      }
      cl.queue.finish();
      say(new Uint8Array(moved).fill(0x42).every((byte) => byte === 0x42));
    },
    says: ["true"],
  },
  "an output that does not fit": {
    opencl: true,
    run() {
      using v = vision();
      onBoth(v, (map, kind) => {
        using large = photo(64, 64);
        using small = photo(32, 32);
        using input = map(large);
        using output = map(small);
        fails(kind, () => v.cv.GaussianBlur(input, output, [3, 3]), LayoutError);
        fails(kind, () => v.cv.convertTo(input, input, "f32"), LayoutError);
        say(output.matShape.sizes, output.type);
      });
      using a = photo(64, 64);
      using b = photo(64, 32);
      v.cv.bitwise_not(v.graph.map(a, v.cv.mat), v.graph.map(b, v.cv.mat));
    },
    says: ["32,32 CV_8UC1", "32,32 CV_8UC1"],
    fails: {
      ...{ error: LayoutError, api: "opencv", fn: "bitwise_not", argument: "dst" },
      message: /bitwise_not makes 64 rows × 64 columns of CV_8UC1; opencv\.mat .* is 64 rows × 32 columns of CV_8UC1/,
      hint: /reallocate: true/,
    },
  },
  "a reallocated output, thrown away": {
    run() {
      using e = eye();
      using large = photo(64, 64);
      using small = photo(32, 32);
      using input = e.graph.map(large, e.cv.mat);
      const output = e.graph.map(small, e.cv.mat);
      e.cv.GaussianBlur(input, output, [3, 3], { reallocate: true });
      try {
        output[Symbol.dispose]();
      } catch (error) {
        (error as ReallocatedError).result?.[Symbol.dispose]();
        throw error;
      }
    },
    fails: {
      ...{ error: ReallocatedError, api: "opencv", message: /the result is in opencv mat \[64,64\] u8/ },
      hint: /Map an output that has the size and type of the result/,
    },
  },
  "used as if it were what was mapped": reallocated(({ cv, graph }, output, small) => {
    fails("operation", () => work(cv, output), AccessError);
    fails("as an output", () => cv.bitwise_not(output, output, { reallocate: true }), AccessError);
    using back = graph.map(output, host); // the bytes that were mapped
    say(back.view()[0], back.layout.byteLength);
    back[Symbol.dispose]();
    const result = resultOf(() => output[Symbol.dispose]());
    work(cv, result);
    say(result.matShape.sizes, small.layout.shape);
    result[Symbol.dispose]();
    fails("result after its end", () => work(cv, result), DisposedError);
  }, ["7 1024", "64,64 32,32"]),
  "sliced": reallocated(({ cv }, output) => {
    try {
      using part = output.borrow("read-write");
      work(cv, part); // a Mat's part is the bytes that were mapped
    } catch (error) {
      if (!(error instanceof AccessError)) throw error;
    }
    resultOf(() => output[Symbol.dispose]())[Symbol.dispose]();
  }),
  "its result used after its context": {
    opencl: true,
    run() {
      const v = vision();
      const results = (["mat", "umat"] as const).map((to) => {
        return made(v.cv, (tensor) => to === "mat" ? v.graph.map(tensor, v.cv.mat) : v.graph.map(tensor, v.cv.umat));
      });
      v[Symbol.dispose]();
      for (const result of results) fails(result.name, () => work(v.cv, result), DisposedError);
      results[0].slice(results[0].layout);
    },
    fails: { error: DisposedError, api: "core", message: /was disposed with opencv context \(OpenCV/ },
  },
  "found out at the end of the context: the result is gone": {
    opencl: true,
    run() {
      for (const what of ["cv", "cl", "graph", "source"] as const) {
        const v = vision();
        onBoth(v, (map, kind) => {
          const [large, source] = [photo(64, 64), photo(32, 32)];
          const output = map(source);
          v.cv.GaussianBlur(map(large), output, [3, 3], { reallocate: true });
          if (kind === "mat" && what !== "source") resultOf(() => output[Symbol.dispose]())[Symbol.dispose]();
          else {
            try {
              ({ ...v, source })[what][Symbol.dispose]();
            } catch (error) {
              if (!(error instanceof ReallocatedError)) throw error;
              say(what, kind, error.result === undefined ? "gone" : "kept");
              error.result?.[Symbol.dispose]();
            }
          }
          large[Symbol.dispose]();
          source[Symbol.dispose]();
        });
        v[Symbol.dispose]();
      }
    },
    says: ["cv umat gone", "cl umat gone", "graph umat kept", "source mat kept", "source umat kept"],
  },
  "what OpenCV owns, to be reallocated": {
    opencl: true,
    run() {
      using v = vision();
      onBoth(v, (map, kind) => {
        const result = made(v.cv, map);
        using small = photo(4, 4);
        using input = map(small);
        fails(kind, () => v.cv.GaussianBlur(input, result, [3, 3], { reallocate: true }), LayoutError);
        using back = v.graph.map(result, host); // what it had before is there
        say(back.layout.byteLength, back.view()[4095]);
        back[Symbol.dispose]();
        result[Symbol.dispose]();
      });
      const result = made(v.cv, (tensor) => v.graph.map(tensor, v.cv.mat));
      using _ = result;
      v.cv.resize(v.cv.mat.create({ shape: [4, 4], dtype: "u8" }), result, [9, 9], { reallocate: true });
    },
    says: ["4096 7", "4096 7"],
    fails: {
      ...{ error: LayoutError, api: "opencv", fn: "resize", argument: "dst", message: /OpenCV's own memory/ },
      hint: /cv\.mat\.create/,
    },
  },
  "a result of more bytes than 64 bits count": {
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [4, 4, 4], dtype: "f64" });
      using output = e.cv.mat.create({ shape: [4, 4, 4], dtype: "f64" });
      for (const size of [[2 ** 30, 2 ** 29], [2 ** 31 - 1, 2 ** 31 - 1], [2 ** 27, 2 ** 31 - 1]] as const) {
        fails(size.join(), () => e.cv.resize(image, output, size, { reallocate: true }), LayoutError);
      }
      work(e.cv, output);
      e.cv.resize(image, output, [2 ** 30, 2 ** 29], { reallocate: true }); // 2^64 bytes
    },
    fails: {
      ...{
        error: LayoutError,
        api: "opencv",
        fn: "resize",
        argument: "dst",
        message: /and OpenCV counts 2147483647 bytes/,
      },
    },
  },
});
