#version 450
layout(local_size_x = 8, local_size_y = 2) in;
layout(set = 0, binding = 0) readonly buffer From { float from[]; };
layout(set = 0, binding = 3) writeonly buffer To { vec4 to[]; };
layout(push_constant) uniform Constants { vec3 scale; int shift; uvec2 size; };
void main() {
  uvec2 at = gl_GlobalInvocationID.xy;
  if (at.x >= size.x || at.y >= size.y) return;
  uint i = at.y * size.x + at.x;
  to[i] = vec4(scale * from[i], float(shift));
}
