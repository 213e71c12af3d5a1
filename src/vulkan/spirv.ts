import { scalar } from "../core/device/types.ts";
import type { Element } from "../core/device/types.ts";
import type { DType } from "../core/layout/dtype.ts";
import { type ChannelKind, kindOf } from "../core/layout/frame_info.ts";
import { shaderFormat } from "./images/formats.ts";
import { OP, spirvIn as wordsIn, SpirvModule, textIn } from "../spirv/module.ts";
import { checks } from "./library.ts";

export interface ShaderBinding {
  /** Its `binding`, in set 0. */
  readonly binding: number;
  /** Its name in the source, if the compiler kept it. */
  readonly name: string | undefined;
  /** True if the shader only reads it: `readonly`. */
  readonly isConst: boolean;
  readonly image?: ShaderImage;
  /**
   * The element type of a buffer's unsized array, or of its only member; undefined if it is neither a number nor a vector.
   */
  readonly element?: ShaderType | undefined;
}

export interface ShaderImage {
  /** GLSL's name of its format: `"rgba8"`; undefined if the shader does not name one. */
  readonly glsl: string | undefined;
  /** The format, as {@link PixelFormat} names it: `"rgba unorm8"`. */
  readonly format: string | undefined;
  readonly kind: ChannelKind;
  readonly arrayed: boolean;
}

export interface ShaderConstant {
  readonly name: string | undefined;
  readonly offset: number;
  readonly type: ShaderType;
}

export interface ShaderType {
  readonly name: string;
  readonly element: Element;
}

export interface Shader {
  readonly bindings: readonly ShaderBinding[];
  readonly constants: readonly ShaderConstant[];
  /** The work-items of a work group, along three dimensions; undefined if they are specialization constants. */
  readonly localSize: readonly number[] | undefined;
}

const COMPUTE = 5;
const LOCAL_SIZE = 17;
const DECORATION = { block: 2, bufferBlock: 3, nonWritable: 24, binding: 33, set: 34, offset: 35 } as const;
const IMAGE_2D = 1;
const IMAGE_STORED = 2;
const STORAGE = { uniformConstant: 0, uniform: 2, pushConstant: 9, storageBuffer: 12 } as const;

const BOUND: readonly number[] = [STORAGE.uniformConstant, STORAGE.uniform, STORAGE.storageBuffer];

/** The number types of shaders, by kind and bits: GLSL's name, GLSL's name for vectors, and the dtype. */
const NUMBERS: Readonly<Record<string, readonly [name: string, vector: string, dtype: DType]>> = {
  u8: ["uint8_t", "u8vec", "u8"],
  i8: ["int8_t", "i8vec", "i8"],
  u16: ["uint16_t", "u16vec", "u16"],
  i16: ["int16_t", "i16vec", "i16"],
  f16: ["float16_t", "f16vec", "f16"],
  u32: ["uint", "uvec", "u32"],
  i32: ["int", "ivec", "i32"],
  f32: ["float", "vec", "f32"],
  u64: ["uint64_t", "u64vec", "u64"],
  i64: ["int64_t", "i64vec", "i64"],
  f64: ["double", "dvec", "f64"],
};

/** A private copy of the words. @throws {ArgumentError} if they are not SPIR-V. */
export function spirvIn(given: unknown): Uint32Array<ArrayBuffer> {
  const hint = "Compile the shader: glslangValidator -V --target-env vulkan1.2 -o shader.spv shader.comp.";
  return wordsIn(checks, given, hint);
}

export class Module extends SpirvModule {
  constructor(words: Uint32Array) {
    super(words, checks);
  }

  get entryPoints(): string[] {
    return [...this.entriesOf(COMPUTE).keys()];
  }

  /** A compute shader's declarations. @throws {ArgumentError} for parameters that a kernel cannot pass. */
  shader(name: string): Shader {
    const entry = this.entriesOf(COMPUTE).get(name);
    const mode = this.all(OP.executionMode).find(([id, mode]) => id === entry && mode === LOCAL_SIZE);
    const variables = this.all(OP.variable).map(([type, id, storage]) => ({ id, storage, type: this.#pointee(type) }));
    const bindings = variables
      .filter(({ storage }) => BOUND.includes(storage))
      .map(({ id, storage, type }) => this.#binding(id, storage, type)).sort((a, b) => a.binding - b.binding);
    const pushed = variables.find(({ storage }) => storage === STORAGE.pushConstant);
    const constants = pushed === undefined ? [] : this.#constants(pushed.type);
    return { bindings, constants, ...(mode === undefined ? {} : { localSize: Array.from(mode.slice(2)) }) } as Shader;
  }

  #binding(id: number, storage: number, type: number): ShaderBinding {
    const set = this.#decorated(id, DECORATION.set) ?? 0;
    const binding = this.#decorated(id, DECORATION.binding) ?? 0;
    if (set !== 0) throw checks.wrong("spirv", `binding ${binding} is in set ${set}: expected set 0 for all.`);
    const named = { binding, name: this.nameOf(id), isConst: this.#is(id, DECORATION.nonWritable) };
    const image = storage === STORAGE.uniformConstant ? this.#image(type) : undefined;
    if (image !== undefined) return { ...named, image };
    if (storage === STORAGE.storageBuffer || this.#is(type, DECORATION.bufferBlock)) return this.#buffer(type, named);
    throw checks.wrong(
      "spirv",
      `binding ${binding} is neither a storage buffer nor a storage image of two dimensions.`,
      "Kernels take storage buffers (`buffer`), storage images (`image2D`, `image2DArray`) and push constants.",
    );
  }

  #buffer(type: number, named: ShaderBinding): ShaderBinding {
    const members = this.#members(type);
    const only = members.length === 1 ? members[0] : undefined;
    const array = only === undefined
      ? undefined
      : this.all(OP.runtimeArray).find(([result]) => result === only) ?? this.find(OP.array, only);
    const isConst = named.isConst ||
      (members.length > 0 && members.every((_, i) => this.#member(type, i, DECORATION.nonWritable) !== undefined));
    const name = named.name ?? (only === undefined ? undefined : this.#memberName(type, 0));
    return { ...named, name, isConst, element: this.#type(array?.[1] ?? only) };
  }

  #image(type: number): ShaderImage | undefined {
    const [, of, dimensions, , arrayed, samples, sampled, code] = this.find(OP.image, type) ?? [];
    if (dimensions !== IMAGE_2D || samples !== 0 || sampled !== IMAGE_STORED) return undefined;
    const [glsl, format] = shaderFormat(code) ?? [];
    const dtype = this.#type(of)?.element.dtypes?.[0];
    return dtype === undefined ? undefined : { glsl, format, kind: kindOf(dtype), arrayed: arrayed === 1 };
  }

  #constants(type: number): ShaderConstant[] {
    return this.#members(type).map((member, i) => {
      const found = this.#type(member);
      if (found === undefined) {
        throw checks.wrong(
          "spirv",
          `push constant ${i} is neither a number nor a vector.`,
          "Pass an array in a buffer.",
        );
      }
      const offset = this.#member(type, i, DECORATION.offset) ?? 0;
      return { name: this.#memberName(type, i), offset, type: found };
    });
  }

  #type(id: number | undefined): ShaderType | undefined {
    if (id === undefined) return undefined;
    const number = this.numberOf(id);
    const key = `${number?.kind}${number?.bits}`;
    if (number === undefined || !Object.hasOwn(NUMBERS, key)) return undefined;
    const { lanes } = number;
    const [name, prefix, dtype] = NUMBERS[key];
    const of1 = scalar(dtype);
    const { size } = of1.numbers;
    return {
      name: lanes === 1 ? name : `${prefix}${lanes}`,
      element: { ...of1, lanes, size: size * lanes, align: size },
    };
  }

  #members(type: number): readonly number[] {
    return Array.from(this.find(OP.struct, type)?.subarray(1) ?? []);
  }

  #pointee(pointer: number): number {
    return this.find(OP.pointer, pointer)?.[2] ?? 0;
  }

  #memberName(type: number, member: number): string | undefined {
    const named = this.all(OP.memberName).find((words) => words[0] === type && words[1] === member);
    return named && (textIn(named.subarray(2)) || undefined);
  }

  #is(id: number, decoration: number): boolean {
    return this.all(OP.decorate).some((words) => words[0] === id && words[1] === decoration);
  }

  #decorated(id: number, decoration: number): number | undefined {
    return this.all(OP.decorate).find((words) => words[0] === id && words[1] === decoration)?.[2];
  }

  /** The value of a member's decoration; the decoration's own number if it has no value. */
  #member(type: number, member: number, decoration: number): number | undefined {
    const found = this.all(OP.memberDecorate)
      .find((words) => words[0] === type && words[1] === member && words[2] === decoration);
    return found === undefined ? undefined : found[3] ?? decoration;
  }
}
