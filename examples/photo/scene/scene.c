/* Renders photo.png, the picture that the demo works on: glass marbles, painted balls and steel ones on a stone floor at dusk, seen through a wide
 * lens and a grainy film. A small path tracer, nothing but C and libpng, so that the picture is our own work (CC0) and can be made again:
 *
 *     cc -O3 -std=c99 -I.. scene.c ../png_io.c -lpng -lz -lm -lpthread -o scene && ./scene photo.png
 *
 * Same numbers in, same picture out: every pixel has a random sequence of its own. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "png_io.h"

enum { WIDTH = 1250, HEIGHT = 834, SAMPLES = 96, MAX_BOUNCES = 6, MAX_SPHERES = 64, THREADS = 2 };

#define PI 3.14159265f

typedef struct { float x, y, z; } vec;

static vec v(float x, float y, float z) { vec r = { x, y, z }; return r; }
static vec add(vec a, vec b) { return v(a.x + b.x, a.y + b.y, a.z + b.z); }
static vec sub(vec a, vec b) { return v(a.x - b.x, a.y - b.y, a.z - b.z); }
static vec mul(vec a, vec b) { return v(a.x * b.x, a.y * b.y, a.z * b.z); }
static vec scale(vec a, float s) { return v(a.x * s, a.y * s, a.z * s); }
static float dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static vec cross(vec a, vec b) { return v(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
static vec unit(vec a) { return scale(a, 1.0f / sqrtf(dot(a, a))); }
static vec mix(vec a, vec b, float t) { return add(scale(a, 1.0f - t), scale(b, t)); }
static float clamp01(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }

/* Random numbers: PCG, one sequence per pixel. */
typedef struct { uint64_t state; } random_source;

static uint32_t random_bits(random_source *r)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    uint32_t word = (uint32_t)(((r->state >> ((r->state >> 59) + 5)) ^ r->state) * 12605985483714917081u >> 32);
    return word ^ (word >> 15);
}
static float random_unit(random_source *r) { return (float)(random_bits(r) >> 8) * (1.0f / 16777216.0f); }

/* Value noise over the plane, for the stone. */
static float lattice(int x, int y)
{
    uint32_t h = (uint32_t)x * 0x8da6b343u ^ (uint32_t)y * 0xd8163841u;
    h = (h ^ (h >> 13)) * 0x5bd1e995u;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    return (float)((h ^ (h >> 14)) & 0xffffff) / 16777215.0f;
}
static float noise(float x, float y)
{
    float fx = floorf(x), fy = floorf(y), u = x - fx, w = y - fy;
    int ix = (int)fx, iy = (int)fy;
    u = u * u * (3.0f - 2.0f * u);
    w = w * w * (3.0f - 2.0f * w);
    float low = lattice(ix, iy) * (1.0f - u) + lattice(ix + 1, iy) * u;
    float high = lattice(ix, iy + 1) * (1.0f - u) + lattice(ix + 1, iy + 1) * u;
    return low * (1.0f - w) + high * w;
}
static float clouds(float x, float y)
{
    float sum = 0.0f, weight = 0.5f;
    for (int octave = 0; octave < 6; octave++) {
        sum += weight * noise(x, y);
        x = x * 2.03f + 17.1f;
        y = y * 2.03f + 5.7f;
        weight *= 0.5f;
    }
    return sum;
}

enum material { MATTE, PAINTED, STEEL, GLASS, LAMP };
typedef struct {
    vec centre;
    float radius;
    enum material material;
    vec colour;
    float roughness;
} sphere;

static sphere spheres[MAX_SPHERES];
static int sphere_count;

static void put(float x, float z, float radius, enum material material, vec colour, float roughness)
{
    sphere s = { v(x, radius, z), radius, material, colour, roughness };
    spheres[sphere_count++] = s;
}

static void build_scene(void)
{
    put(-1.35f, 0.2f, 1.0f, PAINTED, v(0.72f, 0.06f, 0.04f), 0.02f);
    put(1.05f, -0.35f, 0.8f, STEEL, v(0.93f, 0.90f, 0.86f), 0.03f);
    put(0.02f, 1.35f, 0.55f, GLASS, v(0.97f, 0.99f, 0.98f), 0.0f);
    put(-0.25f, -1.9f, 0.7f, PAINTED, v(0.05f, 0.22f, 0.50f), 0.15f);
    put(2.5f, 0.9f, 0.45f, STEEL, v(0.95f, 0.64f, 0.38f), 0.12f);
    put(-2.6f, 1.5f, 0.35f, GLASS, v(0.75f, 0.95f, 0.80f), 0.0f);
    put(1.35f, 1.7f, 0.28f, PAINTED, v(0.90f, 0.62f, 0.08f), 0.05f);
    put(-0.95f, 1.75f, 0.24f, MATTE, v(0.85f, 0.82f, 0.75f), 0.0f);
    random_source r = { 7 };
    while (sphere_count < 40) { /* marbles strewn about, clear of each other */
        float radius = 0.09f + 0.13f * random_unit(&r) * random_unit(&r);
        float x = -5.0f + 10.0f * random_unit(&r), z = -5.0f + 7.6f * random_unit(&r);
        int clear = 1;
        for (int i = 0; i < sphere_count; i++) {
            float dx = spheres[i].centre.x - x, dz = spheres[i].centre.z - z;
            clear &= dx * dx + dz * dz > (spheres[i].radius + radius) * (spheres[i].radius + radius);
        }
        vec colour = v(0.15f + 0.8f * random_unit(&r), 0.15f + 0.7f * random_unit(&r), 0.15f + 0.7f * random_unit(&r));
        if (clear) put(x, z, radius, (enum material)(random_bits(&r) % 4), colour, 0.1f * random_unit(&r));
    }
    for (int i = 0; i < 14; i++) { /* a string of lamps far behind, for the lens to blur */
        float x = -9.0f + 1.4f * (float)i;
        put(x, -9.0f - 2.0f * lattice(i, 3), 0.1f, LAMP, mix(v(14.0f, 8.0f, 3.0f), v(9.0f, 9.0f, 12.0f), lattice(i, 1)), 0.0f);
        spheres[sphere_count - 1].centre.y = 1.6f + 1.1f * lattice(i, 2);
    }
}

static vec sun_direction(void) { return unit(v(-0.55f, 0.62f, 0.45f)); }

static vec sky(vec d)
{
    float up = clamp01(d.y);
    vec horizon = v(0.95f, 0.62f, 0.42f), zenith = v(0.16f, 0.26f, 0.52f);
    vec colour = mix(horizon, zenith, powf(up, 0.45f));
    float veil = clouds(4.0f * d.x / (d.y + 0.3f), 4.0f * d.z / (d.y + 0.3f));
    colour = mix(colour, v(1.0f, 0.78f, 0.66f), 0.55f * clamp01((veil - 0.42f) * 3.0f));
    return scale(colour, 0.8f);
}

/* The sun is a disc (soft shadows), sampled on its own; a path that hits it by chance sees it only after a mirror. */
static vec sun_sample(random_source *r)
{
    vec d = sun_direction();
    vec a = unit(cross(d, v(0.0f, 1.0f, 0.0f))), b = cross(d, a);
    float angle = 2.0f * PI * random_unit(r), radius = 0.07f * sqrtf(random_unit(r));
    return unit(add(d, add(scale(a, radius * cosf(angle)), scale(b, radius * sinf(angle)))));
}
static const vec SUN_LIGHT = { 2.6f, 2.1f, 1.55f };

static vec stone(vec p, float *gloss)
{
    float size = 1.1f, sx = floorf(p.x / size), sz = floorf(p.z / size);
    float fx = p.x / size - sx, fz = p.z / size - sz;
    float edge = fminf(fminf(fx, 1.0f - fx), fminf(fz, 1.0f - fz));
    float grain = clouds(p.x * 7.0f + sx * 31.0f, p.z * 7.0f + sz * 17.0f);
    float vein = fabsf(clouds(p.x * 2.0f + 9.0f * sx, p.z * 2.0f) - 0.5f);
    vec dark = v(0.13f, 0.12f, 0.12f), light = v(0.56f, 0.52f, 0.47f);
    vec colour = ((int)sx + (int)sz) & 1 ? mix(dark, light, 0.10f + 0.25f * grain) : mix(dark, light, 0.55f + 0.5f * grain);
    colour = scale(colour, 0.55f + 0.45f * clamp01(vein * 14.0f));
    float joint = clamp01((edge - 0.008f) / 0.012f);
    *gloss = joint * (0.25f + 0.5f * clamp01(grain * 2.0f - 0.5f));
    return scale(colour, 0.35f + 0.65f * joint);
}

/* The nearest sphere that the ray meets: its index, or -1 with the floor or nothing. */
static int nearest(vec from, vec d, float *distance)
{
    int hit = -1;
    for (int i = 0; i < sphere_count; i++) {
        vec to = sub(spheres[i].centre, from);
        float along = dot(to, d), inside = along * along - dot(to, to) + spheres[i].radius * spheres[i].radius;
        if (inside < 0.0f) continue;
        float root = sqrtf(inside), t = along - root > 1e-3f ? along - root : along + root;
        if (t > 1e-3f && t < *distance) {
            *distance = t;
            hit = i;
        }
    }
    return hit;
}

static int in_shadow(vec from, vec d)
{
    float distance = 1e9f;
    int hit = nearest(from, d, &distance);
    return hit >= 0 && spheres[hit].material != LAMP;
}

static vec scatter(vec normal, random_source *r) /* cosine-weighted */
{
    float z = 2.0f * random_unit(r) - 1.0f, angle = 2.0f * PI * random_unit(r), s = sqrtf(fmaxf(0.0f, 1.0f - z * z));
    vec d = add(normal, v(s * cosf(angle), s * sinf(angle), z));
    return dot(d, d) < 1e-6f ? normal : unit(d);
}
static vec mirror(vec d, vec normal) { return sub(d, scale(normal, 2.0f * dot(d, normal))); }
static float fresnel(float cosine, float base) { return base + (1.0f - base) * powf(1.0f - clamp01(cosine), 5.0f); }

/* Passes through or bounces off glass; returns the new direction. */
static vec through_glass(vec d, vec normal, random_source *r)
{
    float ratio = 1.0f / 1.5f, cosine = -dot(d, normal);
    if (cosine < 0.0f) {
        normal = scale(normal, -1.0f);
        cosine = -cosine;
        ratio = 1.5f;
    }
    float k = 1.0f - ratio * ratio * (1.0f - cosine * cosine);
    if (k < 0.0f || random_unit(r) < fresnel(ratio > 1.0f ? sqrtf(fmaxf(0.0f, k)) : cosine, 0.04f)) return mirror(d, normal);
    return unit(add(scale(d, ratio), scale(normal, ratio * cosine - sqrtf(k))));
}

static vec trace(vec from, vec d, random_source *r)
{
    vec light = v(0, 0, 0), weight = v(1, 1, 1);
    for (int bounce = 0; bounce < MAX_BOUNCES; bounce++) {
        float distance = d.y < -1e-5f ? -from.y / d.y : 1e9f;
        int on_floor = distance > 1e-3f && distance < 60.0f, hit;
        if (!on_floor) distance = 1e9f;
        hit = nearest(from, d, &distance);
        if (hit < 0 && !on_floor) return add(light, mul(weight, sky(d.y < 0.0f ? v(d.x, 0.0f, d.z) : d)));
        vec point = add(from, scale(d, distance)), normal = v(0, 1, 0), colour;
        enum material material = PAINTED;
        float roughness = 0.12f, gloss = 0.04f;
        if (hit >= 0) {
            const sphere *s = &spheres[hit];
            if (s->material == LAMP) return add(light, mul(weight, s->colour));
            normal = unit(sub(point, s->centre));
            material = s->material;
            colour = s->colour;
            roughness = s->roughness;
        } else {
            float shine;
            colour = stone(point, &shine);
            gloss = 0.05f * shine;
            /* Far away the floor fades into the haze of the horizon. */
            float haze = 1.0f - expf(-0.0016f * distance * distance);
            light = add(light, mul(weight, scale(sky(v(d.x, 0.02f, d.z)), haze)));
            weight = scale(weight, 1.0f - haze);
        }
        from = add(point, scale(normal, 1e-3f));
        if (material == GLASS) {
            weight = mul(weight, mix(v(1, 1, 1), colour, 0.5f));
            d = through_glass(d, normal, r);
            from = add(point, scale(d, 2e-3f));
        } else if (material == STEEL || (material == PAINTED && random_unit(r) < fresnel(-dot(d, normal), gloss))) {
            if (material == STEEL) weight = mul(weight, colour);
            d = unit(add(mirror(d, normal), scale(scatter(normal, r), roughness)));
        } else {
            weight = mul(weight, colour);
            vec sun = sun_sample(r);
            float facing = dot(normal, sun);
            if (facing > 0.0f && !in_shadow(from, sun)) light = add(light, mul(weight, scale(SUN_LIGHT, facing)));
            d = scatter(normal, r);
        }
        if (bounce >= 2 && dot(weight, v(0.3f, 0.4f, 0.3f)) < 0.03f) break;
    }
    return light;
}

/* A thin lens of f/2: rays through all of its area meet at the distance that it is focused on. */
static vec camera_sample(float px, float py, random_source *r)
{
    vec eye = v(0.5f, 1.75f, 6.2f), target = v(0.0f, 0.62f, 0.0f);
    vec forward = unit(sub(target, eye)), right = unit(cross(forward, v(0, 1, 0))), up = cross(right, forward);
    float x = (px - WIDTH * 0.5f) / HEIGHT, y = (HEIGHT * 0.5f - py) / HEIGHT, focus = 5.35f, aperture = 0.085f;
    vec d = add(forward, add(scale(right, x * 0.82f), scale(up, y * 0.82f)));
    float angle = 2.0f * PI * random_unit(r), radius = aperture * sqrtf(random_unit(r));
    vec shift = add(scale(right, radius * cosf(angle)), scale(up, radius * sinf(angle)));
    return trace(add(eye, shift), unit(sub(add(scale(d, focus), scale(forward, 0.0f)), shift)), r);
}

static float filmic(float x) { return clamp01((x * (2.51f * x + 0.03f)) / (x * (2.43f * x + 0.59f) + 0.14f)); }

static uint8_t *pixels;

static void develop(int x, int y, vec colour, random_source *r)
{
    float dx = ((float)x - WIDTH * 0.5f) / WIDTH, dy = ((float)y - HEIGHT * 0.5f) / WIDTH;
    float vignette = 1.0f - 0.9f * (dx * dx + dy * dy);
    float channels[3] = { colour.x, colour.y, colour.z };
    float grain = (random_unit(r) + random_unit(r) + random_unit(r) - 1.5f) * 5.0f; /* about 2.5 levels, the same in all channels */
    for (int c = 0; c < 3; c++) {
        float level = 255.0f * powf(filmic(channels[c] * 0.5f * vignette), 1.0f / 2.2f) + grain;
        pixels[3 * (y * WIDTH + x) + c] = (uint8_t)(level < 0.0f ? 0.0f : level > 255.0f ? 255.0f : level + 0.5f);
    }
}

static void *render_rows(void *first_row)
{
    for (int y = (int)(intptr_t)first_row; y < HEIGHT; y += THREADS) {
        for (int x = 0; x < WIDTH; x++) {
            random_source r = { (uint64_t)(y * WIDTH + x) * 0x9e3779b97f4a7c15u + 1 };
            vec sum = v(0, 0, 0);
            for (int s = 0; s < SAMPLES; s++) {
                vec c = camera_sample((float)x + random_unit(&r), (float)y + random_unit(&r), &r);
                sum = add(sum, v(fminf(c.x, 6.0f), fminf(c.y, 6.0f), fminf(c.z, 6.0f)));
            }
            develop(x, y, scale(sum, 1.0f / SAMPLES), &r);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pixels = malloc(3u * WIDTH * HEIGHT);
    if (argc != 2 || !pixels) {
        fprintf(stderr, "usage: scene OUT.png\n");
        return 2;
    }
    build_scene();
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, render_rows, (void *)(intptr_t)i)) return 1;
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    image out = { WIDTH, HEIGHT, 3, pixels };
    const char *problem = png_write(argv[1], &out);
    if (problem) fprintf(stderr, "%s: %s\n", argv[1], problem);
    free(pixels);
    return problem ? 1 : 0;
}
