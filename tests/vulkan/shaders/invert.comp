#version 450
// An image, inverted in place. A word tells how often.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8) uniform image2D pixels;
layout(binding = 1) buffer Count { uint count[]; };
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  if (at == ivec2(0)) count[0]++;
  if (any(greaterThanEqual(at, imageSize(pixels)))) return;
  imageStore(pixels, at, vec4(1.0) - imageLoad(pixels, at));
}
