/**
 * Vectors in host memory as a buffer, in parts of a buffer, and in shared virtual memory.
 *
 * @module
 */
import { type DType, host, type HostTensor, LayoutError, MapperGraph, type Tensor } from "@samepage/interop";
import { OpenCLContext, type OpenCLKernel, type OpenCLTensor } from "@samepage/interop/opencl";
import { open, type Platform, thrown } from "../help.ts";
import { ADDRESSES, type Kind, Room, type Row } from "./rows.ts";

/** Numbers of OpenCL C, and how many make a vector: one of three lies as one of four does. */
const NUMBERS = [
  ["uchar", "u8", 1],
  ["ushort", "u16", 2],
  ["uint", "u32", 4],
  ["ulong", "u64", 8],
  ["float", "f32", 4],
  ["double", "f64", 8],
] as const;
const LANES = [1, 2, 4, 8, 16];

/** Vectors that a kernel copies. */
const ITEMS = 4;
/** Bytes of the longest of them, all together. */
const MOST = ITEMS * 128;
/** A room for them at any address. */
const ROOM = 2 * MOST;

/** A type of OpenCL C, and a kernel that copies vectors of it. */
interface Vector {
  readonly type: string;
  readonly dtype: DType;
  readonly size: number;
  readonly number: number;
  readonly copy: OpenCLKernel;
}

function vectorsOf(cl: OpenCLContext): { readonly vectors: readonly Vector[]; readonly copyAny: OpenCLKernel } {
  const hasDouble = cl.device.extensions.includes("cl_khr_fp64");
  const types = NUMBERS.filter(([type]) => type !== "double" || hasDouble).flatMap(([number, dtype, size]) =>
    LANES.map((lanes) => ({ type: `${number}${lanes === 1 ? "" : lanes}`, dtype, number: size, size: lanes * size }))
  );
  const program = cl.program(`
    ${hasDouble ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable" : ""}
    kernel void copy_any(global const uchar* from, ulong a, global uchar* to, ulong b) {
      size_t i = get_global_id(0);
      vstore16(vload16(i, from + a), i, to + b);
    }
    ${
    types.map(({ type }) =>
      `kernel void copy_${type}(global const ${type}* from, global ${type}* to) {
      to[get_global_id(0)] = from[get_global_id(0)];
    }`
    ).join("\n")
  }`);
  return {
    vectors: types.map((each) => ({ ...each, copy: program.kernel(`copy_${each.type}`) })),
    copyAny: program.kernel("copy_any"),
  };
}

/** Two rooms, and how the same bytes of both are passed to a kernel. */
interface Ends {
  readonly from: Room;
  readonly to: Room;
  /** The bytes at an offset as numbers of a dtype, for a kernel. */
  at(room: Room, begin: number, vector: Vector, use: DisposableStack): Tensor;
}

function* rowsOf({ from, to, at }: Ends, vectors: readonly Vector[]): Iterable<Row> {
  for (const vector of vectors) {
    const { type, number, size, copy } = vector;
    for (const begin of ADDRESSES) {
      // A number has to lie at a multiple of its size, or there is no tensor.
      if (begin % number !== 0) continue;
      yield {
        name: `${type}* at ${begin}`,
        run() {
          to.restore();
          {
            using use = new DisposableStack();
            const run = () =>
              copy.run({ items: [ITEMS] }, [at(from, begin, vector, use), at(to, begin, vector, use)] as never);
            // OpenCL C has no vector elsewhere than at a multiple of its size.
            if (begin % size !== 0) return void thrown(LayoutError, run);
            run();
          }
          to.assertHolds(begin, from.before(begin, ITEMS * size));
        },
      };
    }
  }
}

/** Host memory as buffers: kernels that take vectors, and one that loads them from bytes at any address. */
export const buffers: Kind = function* (platform, stack) {
  const cl = stack.use(open(platform as Platform));
  const graph = new MapperGraph([host, cl]);
  const [from, to] = [Room.of(ROOM, stack), Room.of(ROOM, stack)];
  const { vectors, copyAny } = vectorsOf(cl);
  const at = (room: Room, begin: number, { dtype, number, size }: Vector, use: DisposableStack) => {
    const shape = [ITEMS * size / number];
    const part = use.use(room.part({ shape, dtype, byteOffset: begin }));
    return use.use(graph.map(part, cl));
  };
  yield* rowsOf({ from, to, at }, vectors);
  for (const begin of ADDRESSES) {
    yield {
      name: `vload16 of uchar* at ${begin}`,
      run() {
        to.restore();
        {
          using a = from.part({ shape: [MOST], dtype: "u8", byteOffset: begin });
          using b = to.part({ shape: [MOST], dtype: "u8", byteOffset: begin });
          using source = graph.map(a, cl, { access: "read" });
          using sink = graph.map(b, cl);
          copyAny.run({ items: [MOST / 16] }, [source, 0n, sink, 0n]);
        }
        to.assertHolds(begin, from.before(begin, MOST));
      },
    };
  }
  for (const begin of ADDRESSES) {
    yield {
      name: `vload16 of a part of a buffer, at ${begin}`,
      run() {
        to.restore();
        {
          using source = graph.map(from.tensor, cl, { access: "read" });
          using sink = graph.map(to.tensor, cl);
          using a = partOf(source, begin);
          using b = partOf(sink, begin);
          const [atA, atB] = [a, b].map(({ layout }) => BigInt(layout.byteOffset));
          copyAny.run({ items: [MOST / 16] }, [a.base, atA, b.base, atB]);
        }
        to.assertHolds(begin, from.before(begin, MOST));
      },
    };
  }
};

function partOf(tensor: OpenCLTensor, begin: number): OpenCLTensor {
  return tensor.slice({ shape: [MOST], dtype: "u8", byteOffset: begin });
}

/** Host memory as shared virtual memory: any where the device shares all of it, else fine-grained memory of its own. */
export const shared: Kind = function* (platform, stack) {
  const cl = stack.use(OpenCLContext.open({ platform }));
  const { fineGrainSystem } = cl.svm.capabilities;
  const graph = new MapperGraph([host, cl]);
  const room = () => {
    if (fineGrainSystem) return Room.of(ROOM, stack);
    const block = stack.use(cl.svm.allocate({ shape: [ROOM], dtype: "u8", grain: "fine", align: 4096 }));
    return new Room(stack.use(graph.map(block, host)) as HostTensor<"u8">);
  };
  const at = (room: Room, begin: number, { dtype, number, size }: Vector, use: DisposableStack) => {
    const shape = [ITEMS * size / number];
    const part = use.use(room.part({ shape, dtype, byteOffset: begin }));
    return use.use(graph.map(part, cl.svm));
  };
  yield* rowsOf({ from: room(), to: room(), at }, vectorsOf(cl).vectors);
};
