#version 450
// The layers of an image, in reverse order; each pixel of layer n plus n.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8ui) uniform readonly uimage2DArray from;
layout(binding = 1, rgba8ui) uniform writeonly uimage2DArray to;
void main() {
  ivec3 at = ivec3(gl_GlobalInvocationID);
  ivec3 size = imageSize(from);
  if (any(greaterThanEqual(at, size))) return;
  uvec4 pixel = (imageLoad(from, at) + uint(at.z)) & 255u;
  imageStore(to, ivec3(at.xy, size.z - 1 - at.z), pixel);
}
