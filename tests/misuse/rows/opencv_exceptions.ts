import { host, type HostTensor } from "@samepage/interop";
import { type OpenCVContext, OpenCVError, type OpenCVTensor } from "@samepage/interop/opencv";
import { fails, say, sleep } from "../kit.ts";
import { eye, onBoth, photo, vision, work } from "../opencv.ts";
import { type Failure, type Row, table } from "../row.ts";

const flags = ["--allow-ffi", "--allow-read"]; // a Worker's module is read

/** An exception of OpenCV's: WebP has no images so wide. */
function explode(cv: OpenCVContext, image: OpenCVTensor): void {
  cv.imencode(".webp", image);
}

/** What it is for. */
function wide(): HostTensor {
  return photo(2, 16_400);
}

const exploded: Failure = {
  error: OpenCVError,
  ...{ api: "opencv", fn: "imencode", code: -215, codeName: "StsAssert" },
  message: /imencode failed with StsAssert \(-215\) in write: size > 0/,
  has: { thrownBy: /write/, file: /grfmt_webp\.cpp/, line: /^\d+$/ },
};

/** Starts Workers; returns what each says next. */
function start(count: number, task: { throws: boolean; turns: number }) {
  return Array.from({ length: count }, () => {
    const worker = new Worker(new URL("../workers/opencv.ts", import.meta.url), { type: "module" });
    const said: string[] = [];
    let wake = () => {};
    worker.onmessage = ({ data }) => {
      said.push(data);
      wake();
    };
    worker.postMessage({ platform: Deno.args[1], ...task });
    const next = async (): Promise<string> => {
      while (said.length === 0) await new Promise<void>((resolve) => wake = resolve);
      return said.shift()!;
    };
    return { worker, next };
  });
}

/** Terminates Workers in the middle of it, and works here meanwhile and afterwards. */
function terminated(throws: boolean): Row {
  return {
    opencl: true,
    alone: true,
    flags,
    async run() {
      using v = vision();
      using image = photo();
      using umat = v.graph.map(image, v.cv.umat);
      for (const delay of [0, 1, 5]) {
        const workers = start(2, { throws, turns: 1_000_000 });
        for (const { next } of workers) say(await next());
        work(v.cv, umat);
        await sleep(delay);
        for (const { worker } of workers) worker.terminate();
        work(v.cv, umat);
      }
      await sleep(1000); // by then the Workers have left OpenCV
      using large = wide();
      using input = v.graph.map(large, v.cv.umat);
      fails("here", () => explode(v.cv, input), OpenCVError);
    },
    says: Array.from({ length: 6 }, () => "running"),
  };
}

export default table(import.meta, {
  "within using: the Mat's end is the map's end": {
    run() {
      using e = eye();
      using image = wide();
      using mat = e.graph.map(image, e.cv.mat);
      explode(e.cv, mat);
    },
    fails: exploded,
  },
  "within using: a UMat": {
    opencl: true,
    run() {
      using v = vision();
      using image = wide();
      using umat = v.graph.map(image, v.cv.umat);
      explode(v.cv, umat);
    },
    fails: exploded,
  },
  "in the middle of a chain, host to OpenCL to OpenCV": {
    opencl: true,
    run() {
      using v = vision();
      using image = wide();
      const before = v.cv.openCLContext;
      {
        using buffer = v.graph.map(image, v.cl);
        using umat = v.graph.map(buffer, v.cv.umat);
        {
          using back = v.graph.map(umat, host, { access: "read" });
          fails("lent for reading only", () => work(v.cv, umat));
          fails("exception", () => explode(v.cv, umat), OpenCVError);
          say(back.view({ access: "read" })[0]);
        }
        work(v.cv, umat);
      }
      say(v.cv.openCLContext === before, image.view()[0]);
      using umat = v.graph.map(image, v.cv.umat);
      work(v.cv, umat);
    },
    says: ["7", "true 7"],
  },
  "1,000 times, on Mats and UMats": {
    opencl: true,
    run() {
      using v = vision();
      onBoth(v, (map) => {
        using image = wide();
        using mapped = map(image);
        let thrown = 0;
        for (let i = 0; i < 1000; i++) {
          try {
            explode(v.cv, mapped);
          } catch (error) {
            if (error instanceof OpenCVError && error.code === -215 && error.line !== undefined) thrown++;
          }
        }
        work(v.cv, mapped);
        say(thrown);
      });
    },
    says: ["1000", "1000"],
  },
  "100 times in each of two Workers": {
    opencl: true,
    flags,
    async run() {
      const workers = start(2, { throws: true, turns: 100 });
      for (const { next } of workers) say(await next(), await next());
    },
    says: ["running thrown 200", "running thrown 200"],
  },
  "Workers terminated while OpenCV throws": terminated(true),
  "Workers terminated while OpenCV works": terminated(false),
  "the process's end while Workers are at work": {
    opencl: true,
    flags,
    // OpenCV 4.6 destroys in handlers of exit() what its functions use in other threads: cv::getNumThreads has been seen to
    // fault there in 1 of 15 runs with Mats alone. samepage cannot prevent it: rows/exits.ts says why.
    faultsAtExit: true,
    warns: /^(terminate called without an active exception\n)?$/,
    async run() {
      const workers = start(2, { throws: false, turns: 1_000_000 });
      for (const { next } of workers) say(await next());
      Deno.exit(0);
    },
    says: ["running", "running"],
  },
  "the end of the program, with live Mats and UMats and work in flight": {
    opencl: true,
    leaves: true,
    faultsAtExit: "Portable",
    run() {
      const v = vision();
      const [a, b] = [photo(2048, 2048), photo(2048, 2048)];
      const [mat, umat] = [v.graph.map(a, v.cv.mat), v.graph.map(b, v.cv.umat)];
      for (let i = 0; i < 8; i++) v.cv.GaussianBlur(umat, umat, [31, 31]);
      kept.push(v, mat, umat);
    },
  },
  "Deno.exit, with live Mats and UMats and work in flight": {
    opencl: true,
    leaves: true,
    faultsAtExit: "Portable",
    run() {
      const v = vision();
      const b = photo(2048, 2048);
      const umat = v.graph.map(b, v.cv.umat);
      for (let i = 0; i < 8; i++) v.cv.GaussianBlur(umat, umat, [31, 31]);
      kept.push(v, umat);
      Deno.exit(0);
    },
  },
  "an uncaught error, with live UMats": {
    opencl: true,
    leaves: true,
    faultsAtExit: "Portable",
    run() {
      const v = vision();
      const umat = v.graph.map(photo(2048, 2048), v.cv.umat);
      v.cv.GaussianBlur(umat, umat, [31, 31]);
      kept.push(v, umat);
      const input = v.graph.map(wide(), v.cv.umat);
      setTimeout(() => explode(v.cv, input));
    },
    exits: 1,
    warns: /imencode failed with StsAssert/,
  },
});

/** What is not to be collected. */
const kept: unknown[] = [];
