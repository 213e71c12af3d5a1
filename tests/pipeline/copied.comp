#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(local_size_x = 16, local_size_y = 4) in;
layout(set = 0, binding = 0) readonly buffer From { uint8_t from[]; };
layout(set = 0, binding = 1) buffer To { uint8_t to[]; };
layout(push_constant) uniform Constants { uint stride; uint toStride; uint width; uint height; uint plane; };

// Copies a plane, its number added.
void main() {
  uvec2 at = gl_GlobalInvocationID.xy;
  if (at.x < width && at.y < height) to[at.y * toStride + at.x] = uint8_t(uint(from[at.y * stride + at.x]) + plane);
}
