#version 450
// The green channel of an image, turned round.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8) uniform readonly image2D from;
layout(binding = 1, r8ui) uniform uimage2D to;
layout(push_constant) uniform Push { uint most; };
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  if (any(greaterThanEqual(at, imageSize(from)))) return;
  uint green = uint(round(imageLoad(from, at).g * 255.0));
  imageStore(to, at, uvec4(most - green));
}
