import * as gl from "../../ffi/gles/constants.ts";
import { InteropError } from "../core/errors.ts";
import { thenUndo, type Undo, undone } from "../core/life/undo.ts";
import { pinned } from "../core/native/pin.ts";
import { cString } from "../core/native/text.ts";
import { checkGl } from "./errors.ts";
import { gles } from "./library.ts";
import type { OpenContext } from "./open_context.ts";
import type { EglPicture } from "./picture.ts";
import { framebuffer } from "./pixels.ts";

export const EXTERNAL = "GL_OES_EGL_image_external_essl3";

const VERTEX = `#version 300 es
out highp vec2 place;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  place = 2.0 * corner;
  gl_Position = vec4(4.0 * corner - 1.0, 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
#extension ${EXTERNAL} : require
precision highp float;
uniform samplerExternalOES frame;
in highp vec2 place;
out vec4 colour;
void main() { colour = texture(frame, place); }`;

const LONGEST = 1000;

/** A texture of another driver's pixels (`GL_TEXTURE_EXTERNAL_OES`). Shaders can only sample it, and not draw to it. */
export class ExternalTexture {
  readonly name: number;
  readonly #context: OpenContext;
  readonly #program: number;

  constructor(context: OpenContext, undo: Undo) {
    this.#context = context;
    const made: Undo = [];
    try {
      this.#program = context.within(() => programOf(context, made));
      this.name = context.within(() => textureOf(context, made));
    } catch (error) {
      throw undone(error, made, "making an external texture");
    }
    undo.push(...made);
  }

  bind(): void {
    gles().glActiveTexture(gl.GL_TEXTURE0);
    gles().glBindTexture(gl.GL_TEXTURE_EXTERNAL_OES, this.name);
  }

  /** Draws it over a picture, the first row to the first row; the sampler converts YUV to RGB. */
  drawTo(picture: EglPicture): void {
    framebuffer(picture, gl.GL_DRAW_FRAMEBUFFER);
    for (const state of OFF) gles().glDisable(state);
    gles().glViewport(0, 0, picture.width, picture.height);
    gles().glUseProgram(this.#program);
    gles().glBindVertexArray(0);
    gles().glBindSampler(0, 0);
    this.bind(); // to unit 0, which the program's sampler reads
    gles().glDrawArrays(gl.GL_TRIANGLES, 0, 3);
  }

  /** Runs commands with its context current. @throws {NativeCallError} with GL's error. */
  command<R>(fn: string, use: () => R): R {
    return this.#context.command(fn, use);
  }
}

const OFF = [gl.GL_BLEND, gl.GL_CULL_FACE, gl.GL_DEPTH_TEST, gl.GL_STENCIL_TEST];

function textureOf(context: OpenContext, undo: Undo): number {
  const names = new Uint32Array(1);
  gles().glGenTextures(1, names);
  checkGl("glGenTextures");
  undo.push(() => context.command("glDeleteTextures", () => gles().glDeleteTextures(1, names)));
  gles().glBindTexture(gl.GL_TEXTURE_EXTERNAL_OES, names[0]);
  gles().glTexParameteri(gl.GL_TEXTURE_EXTERNAL_OES, gl.GL_TEXTURE_MIN_FILTER, gl.GL_NEAREST);
  gles().glTexParameteri(gl.GL_TEXTURE_EXTERNAL_OES, gl.GL_TEXTURE_MAG_FILTER, gl.GL_NEAREST);
  checkGl("glTexParameteri");
  return names[0];
}

function programOf(context: OpenContext, undo: Undo): number {
  const parts = [[gl.GL_VERTEX_SHADER, VERTEX], [gl.GL_FRAGMENT_SHADER, FRAGMENT]] as const;
  return thenUndo("linking a program", (shaders) => {
    const compiled = parts.map(([type, source]) => shaderOf(type, source, shaders));
    const program = gles().glCreateProgram();
    checkGl("glCreateProgram");
    undo.push(() => context.command("glDeleteProgram", () => gles().glDeleteProgram(program)));
    for (const shader of compiled) gles().glAttachShader(program, shader);
    gles().glLinkProgram(program);
    const linked = new Int32Array(1);
    gles().glGetProgramiv(program, gl.GL_LINK_STATUS, linked);
    checkGl("glLinkProgram");
    if (linked[0] === 0) {
      throw refused("glLinkProgram", (log) => gles().glGetProgramInfoLog(program, LONGEST, null, log));
    }
    return program;
  });
}

function shaderOf(type: number, source: string, undo: Undo): number {
  const shader = gles().glCreateShader(type);
  checkGl("glCreateShader");
  undo.push(() => gles().glDeleteShader(shader));
  pinned(cString(source), "egl", (address) => gles().glShaderSource(shader, 1, BigUint64Array.of(address), null));
  gles().glCompileShader(shader);
  const compiled = new Int32Array(1);
  gles().glGetShaderiv(shader, gl.GL_COMPILE_STATUS, compiled);
  checkGl("glCompileShader");
  if (compiled[0] === 0) {
    throw refused("glCompileShader", (log) => gles().glGetShaderInfoLog(shader, LONGEST, null, log));
  }
  return shader;
}

function refused(fn: string, read: (log: Uint8Array<ArrayBuffer>) => void): InteropError {
  const log = new Uint8Array(LONGEST);
  read(log);
  const text = new TextDecoder().decode(log.subarray(0, log.indexOf(0))).trim();
  return new InteropError(`${fn} refused a samepage shader: ${text}`, {
    ...{ api: "gles", fn, hint: "Update the driver: it has the extension that the shader needs." },
  });
}
