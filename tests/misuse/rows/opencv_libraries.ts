import { host, LibraryNotFoundError, MapperGraph, NoRouteError, PermissionError } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import { elfHeader, EM_S390 } from "../elf.ts";
import { fails, open, say } from "../kit.ts";
import { eye, photo, vision, work } from "../opencv.ts";
import { type Failure, type Row, table } from "../row.ts";

const MAY_READ = ["--allow-ffi", "--allow-env"];

/** A module is this file, and why it cannot be opened. */
function instead(name: "core" | "imgproc" | "imgcodecs", path: string, why: RegExp): Row {
  const use = {
    core: () => OpenCVContext.open(),
    imgproc: () => {
      using e = eye();
      using image = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      e.cv.bitwise_not(image, image); // the core's
      work(e.cv, image);
    },
    imgcodecs: () => {
      using e = eye();
      using image = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      work(e.cv, image);
      e.cv.imencode(".png", image);
    },
  }[name];
  const variable = `SAMEPAGE_LIB_OPENCV_${name.toUpperCase()}`;
  return {
    flags: MAY_READ,
    env: { [variable]: path },
    run: use,
    fails: {
      error: LibraryNotFoundError,
      ...{ api: `opencv_${name}`, fn: "dlopen" },
      message: new RegExp(`No opencv_${name} library could be opened; tried `),
      hint: new RegExp(`${variable} names it: correct or unset that variable`),
      has: { attempts: why },
    },
  };
}

/** OpenCV that finds no OpenCL, or no device of it. */
function withoutOpenCL(env: Record<string, string>, hint: RegExp, flags = ["--allow-ffi"]): Row {
  return {
    opencl: "Portable",
    env,
    flags,
    run() {
      using v = vision();
      using image = photo();
      say(String(v.cv.openCLContext));
      {
        using mat = v.graph.map(image, v.cv.mat);
        work(v.cv, mat);
      }
      fails("attach", () => v.cv.umat.attach(4096n));
      v.graph.map(image, v.cv.umat);
    },
    says: ["undefined"],
    fails: {
      ...{ error: NoRouteError, api: "core", argument: "target", message: /OpenCV has no OpenCL here/ },
      hint,
      has: { refused: /it opens that by itself, and found none/ },
    },
  };
}

const notPermitted = (message: RegExp): Failure => ({
  ...{
    error: PermissionError,
    message,
    hint: /Run with --allow-ffi, without a path/,
    has: { flag: /^"--allow-ffi"$/ },
  },
  api: "opencv_core",
});

export default table(import.meta, {
  "no core": instead("core", "/nonexistent/libopencv_core.so", /cannot open shared object file/),
  "no imgproc": instead("imgproc", "/nonexistent/libopencv_imgproc.so", /cannot open shared object file/),
  "no imgcodecs": instead("imgcodecs", "/nonexistent/libopencv_imgcodecs.so", /cannot open shared object file/),
  "a core that is a folder": instead("core", "/tmp", /cannot read file data: Is a directory|it is not a regular file/),
  "a core that is empty": instead("core", "/dev/null", /file too short|invalid ELF header/),
  "a core that is a text": instead("core", import.meta.filename!, /invalid ELF header/),
  "a core without the symbols": instead("core", "libc.so.6", /undefined symbol|has no _Z/),
  "the core for another module": instead("imgproc", "libopencv_core.so.406", /undefined symbol|has no _Z/),
  "a core for another processor": {
    flags: [...MAY_READ, "--allow-read", "--allow-write"],
    run() {
      const path = Deno.makeTempFileSync();
      try {
        Deno.writeFileSync(path, elfHeader(EM_S390));
        Deno.env.set("SAMEPAGE_LIB_OPENCV_CORE", path);
        OpenCVContext.open();
      } finally {
        Deno.removeSync(path);
      }
    },
    fails: {
      error: LibraryNotFoundError,
      ...{ api: "opencv_core", fn: "dlopen" },
      message: /No opencv_core library could be opened/,
      hint: /SAMEPAGE_LIB_OPENCV_CORE names it/,
      has: { attempts: /./ },
    },
  },
  "a core that comes back after it was missing": {
    flags: MAY_READ,
    env: { SAMEPAGE_LIB_OPENCV_CORE: "/nonexistent/libopencv_core.so" },
    run() {
      fails("missing", () => OpenCVContext.open(), LibraryNotFoundError);
      fails("still", () => OpenCVContext.open(), LibraryNotFoundError);
      Deno.env.delete("SAMEPAGE_LIB_OPENCV_CORE");
      using e = eye();
      say(e.cv.version.startsWith("4."));
    },
    says: ["true"],
  },
  "OpenCV's OpenCL switched off": withoutOpenCL({ OPENCV_OPENCL_RUNTIME: "disabled" }, /is OPENCV_OPENCL_RUNTIME set/),
  "OpenCV's OpenCL switched off, where the environment may be read": withoutOpenCL(
    { OPENCV_OPENCL_RUNTIME: "disabled" },
    /Unset OPENCV_OPENCL_RUNTIME=disabled/,
    MAY_READ,
  ),
  "another library for OpenCV's OpenCL": {
    ...withoutOpenCL({ OPENCV_OPENCL_RUNTIME: "/nonexistent/libOpenCL.so" }, /is OPENCV_OPENCL_RUNTIME set/),
    warns: /Failed to load OpenCL runtime/,
  },
  "no OpenCL driver: Mats, and no UMats": {
    env: { OCL_ICD_VENDORS: "/nonexistent" },
    run() {
      using e = eye();
      fails("device", () => OpenCLContext.open());
      using image = photo();
      using mat = e.graph.map(image, e.cv.mat);
      work(e.cv, mat);
      say(String(e.cv.openCLContext));
      mat[Symbol.dispose]();
      e.graph.map(image, e.cv.umat);
    },
    says: ["undefined"],
    fails: {
      ...{ error: NoRouteError, api: "core", argument: "target", message: /No route from host/ },
      hint: /Add a context with such memory to the graph: opencl/,
    },
  },
  "a UMat without OpenCL in the graph": {
    run() {
      using e = eye();
      using image = photo();
      const { open: isOpen } = e.graph.explain(image, e.cv.umat);
      say(isOpen);
      e.graph.map(image, e.cv.umat);
    },
    says: ["false"],
    fails: {
      ...{ error: NoRouteError, api: "core", argument: "target", message: /No route from host/ },
      hint: /Add a context with such memory to the graph: opencl/,
    },
  },
  "a device for OpenCV that is not there": {
    opencl: "Portable",
    env: { OPENCV_OPENCL_DEVICE: "no such platform:GPU:" },
    run() {
      using v = vision();
      say(String(v.cv.openCLContext));
      using image = photo();
      using umat = v.graph.map(image, v.cv.umat); // it has its own
      work(v.cv, umat);
    },
    says: ["undefined"],
    warns: /Requested OpenCL device not found/,
  },
  "no permission": {
    flags: [],
    run: () => OpenCVContext.open(),
    fails: notPermitted(/Deno does not permit to open libopencv_core/),
  },
  "a permission for another library": {
    flags: ["--allow-ffi=/usr/lib/libz.so.1"],
    run: () => OpenCVContext.open(),
    fails: notPermitted(/Deno does not permit to open libopencv_core/),
  },
  "a permission for OpenCV's libraries alone": {
    flags: ["--allow-ffi=libopencv_core.so.406,libc.so.6,libstdc++.so.6"],
    run: () => OpenCVContext.open(),
    fails: { ...notPermitted(/Deno does not permit/) },
  },
  "nothing opened, nothing permitted": {
    flags: [],
    run() {
      using graph = new MapperGraph([host]);
      say(typeof OpenCVContext.open, graph instanceof MapperGraph, typeof open);
    },
    says: ["function true function"],
  },
});
