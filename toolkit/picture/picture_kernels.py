"""Loops over pixels: z-buffer, shading, lines, and putting the layers together.

Screen points are (x, y, w): pixels from the top left corner, and w = 1 / distance along the view
axis [1/m], which is linear on the screen, so nearer is greater and 0 is empty. Colours are linear.
"""

import numpy as np

from jellycage.toolkit.compile_kernels import njit, njit_called


@njit
def rasterise(screen, faces, out_w, out_face):
    """Keep at every pixel centre the face with the greatest w; pixels already taken compete."""
    height, width = out_w.shape
    for f in range(faces.shape[0]):
        a, b, c = screen[faces[f, 0]], screen[faces[f, 1]], screen[faces[f, 2]]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if area == 0.0 or not np.isfinite(area):
            continue
        left = max(int(np.ceil(min(a[0], b[0], c[0]) - 0.5)), 0)
        right = min(int(np.floor(max(a[0], b[0], c[0]) - 0.5)), width - 1)
        top = max(int(np.ceil(min(a[1], b[1], c[1]) - 0.5)), 0)
        bottom = min(int(np.floor(max(a[1], b[1], c[1]) - 0.5)), height - 1)
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                wa, wb, wc = barycentric(a, b, c, area, column + 0.5, row + 0.5)
                if wa < 0.0 or wb < 0.0 or wc < 0.0:
                    continue
                w = wa * a[2] + wb * b[2] + wc * c[2]
                if w > out_w[row, column]:
                    out_w[row, column] = w
                    out_face[row, column] = f


@njit_called
def barycentric(a, b, c, area, x, y):
    """Weights of the three corners at (x, y) on the screen; area is twice the signed one."""
    wb = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / area
    wc = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area
    return 1.0 - wb - wc, wb, wc


@njit
def find_openness(w, across, down, radius, focal, out_light):
    """How open each pixel is, 1 in the open, towards 0 in hollows.

    Pairs of opposite neighbours: a pair that is nearer than the pixel on average means a hollow
    there, whatever the slope, so flat faces stay light. across and down (16, k) are the offsets of
    the first of each pair in units of `radius` [m], another row for each pixel of a 4 x 4 block.
    """
    height, width = w.shape
    count = across.shape[1]
    for row in range(height):
        for column in range(width):
            out_light[row, column] = 1.0
            if w[row, column] <= 0.0:
                continue
            depth = 1.0 / w[row, column]
            reach = radius * focal / depth
            turn = 4 * (row % 4) + column % 4
            total = 0.0
            for k in range(count):
                dx, dy = int(round(reach * across[turn, k])), int(round(reach * down[turn, k]))
                nearer = 0.0
                for sign in (-1, 1):
                    i = min(max(row + sign * dy, 0), height - 1)
                    j = min(max(column + sign * dx, 0), width - 1)
                    gap = depth - 1.0 / w[i, j] if w[i, j] > 0.0 else -radius
                    nearer += min(max(gap, -radius), radius)
                total += max(nearer, 0.0) / (2.0 * radius)
            out_light[row, column] = 1.0 - min(2.4 * total / count, 0.8)


@njit
def even_out(light, w, out_light):
    """Mean over the 4 x 4 block around each pixel, of those at nearly the same depth."""
    height, width = w.shape
    for row in range(height):
        for column in range(width):
            total, count = light[row, column], 1
            for i in range(max(row - 2, 0), min(row + 2, height)):
                for j in range(max(column - 2, 0), min(column + 2, width)):
                    if abs(w[i, j] - w[row, column]) < 0.01 * w[row, column]:
                        total += light[i, j]
                        count += 1
            out_light[row, column] = total / count


@njit
def shade(screen, x, faces, corner_normal, colour, face, light, eye, lights, out_colour):
    """Fill the pixels of a face image with lit colours.

    corner_normal (f, 3, 3); colour (f, 3); light (rows, columns) of half the size; lights (k, 7):
    direction, colour, share of the highlight. Faces are lit from both sides.
    """
    height, width = face.shape
    n, p, view, half = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for row in range(height):
        for column in range(width):
            f = face[row, column]
            if f < 0:
                continue
            i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
            a, b, c = screen[i], screen[j], screen[k]
            area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
            wa, wb, wc = barycentric(a, b, c, area, column + 0.5, row + 0.5)
            wa, wb, wc = wa * a[2], wb * b[2], wc * c[2]
            total = wa + wb + wc
            for d in range(3):
                p[d] = (wa * x[i, d] + wb * x[j, d] + wc * x[k, d]) / total
                n[d] = (
                    wa * corner_normal[f, 0, d]
                    + wb * corner_normal[f, 1, d]
                    + wc * corner_normal[f, 2, d]
                )
                view[d] = eye[d] - p[d]
            normalise(n)
            normalise(view)
            facing = n[0] * view[0] + n[1] * view[1] + n[2] * view[2]
            if facing < 0.0:
                facing = -facing
                for d in range(3):
                    n[d] = -n[d]
            openness = light[row // 2, column // 2]
            add_light(n, view, facing, half, lights, colour[f], openness, out_colour[row, column])


@njit_called
def normalise(vector):
    """Make the length 1, in place; a zero vector stays."""
    length = np.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
    if length > 0.0:
        for d in range(3):
            vector[d] /= length


@njit_called
def add_light(n, view, facing, half, lights, albedo, openness, out_colour):
    """Sky and ground, wrapped diffuse lights with highlights, and a rim: soft, a little gummy."""
    up = 0.5 + 0.5 * n[2]
    rim = (1.0 - facing) ** 3
    for d in range(3):
        sky = 0.24 * up + 0.10 * (1.0 - up)
        out_colour[d] = albedo[d] * sky * openness
    for k in range(lights.shape[0]):
        lambert = 0.0
        for d in range(3):
            lambert += n[d] * lights[k, d]
            half[d] = view[d] + lights[k, d]
        normalise(half)
        wrapped = max((lambert + 0.25) / 1.25, 0.0)
        shine = max(n[0] * half[0] + n[1] * half[1] + n[2] * half[2], 0.0) ** 60
        shine *= lights[k, 6] * (0.25 + 0.75 * openness)
        for d in range(3):
            share = albedo[d] * wrapped * (0.45 + 0.55 * openness)
            out_colour[d] += lights[k, 3 + d] * (share + shine)
    for d in range(3):
        out_colour[d] += rim * (0.10 + 0.25 * albedo[d]) * openness


@njit
def draw_lines(
    screen, edges, strength, solid_w, glass_w, half_width, solid_slack, glass_slack, out_alpha
):
    """Keep the greatest coverage of each pixel by an edge that no solid hides.

    Behind glass an edge is drawn at 0.4 of its strength. The slacks are relative differences of w.
    """
    height, width = out_alpha.shape
    for e in range(edges.shape[0]):
        a, b = screen[edges[e, 0]], screen[edges[e, 1]]
        if strength[e] <= 0.0 or a[2] <= 0.0 or b[2] <= 0.0:
            continue
        dx, dy = b[0] - a[0], b[1] - a[1]
        length2 = max(dx * dx + dy * dy, 1e-12)
        steep = abs(dy) > abs(dx)
        major = 1 if steep else 0
        reach = half_width + 1.0
        spread = reach * np.sqrt(length2) / max(abs(dx), abs(dy))
        first = max(int(np.floor(min(a[major], b[major]) - reach)), 0)
        last = min(int(np.ceil(max(a[major], b[major]) + reach)), (height if steep else width) - 1)
        for m in range(first, last + 1):
            t = min(max((m + 0.5 - a[major]) / (dy if steep else dx), 0.0), 1.0)
            middle = a[0] + t * dx if steep else a[1] + t * dy
            low = max(int(np.floor(middle - spread - 1.0)), 0)
            high = min(int(np.ceil(middle + spread + 1.0)), (width if steep else height) - 1)
            for q in range(low, high + 1):
                row, column = (m, q) if steep else (q, m)
                px, py = column + 0.5 - a[0], row + 0.5 - a[1]
                s = min(max((px * dx + py * dy) / length2, 0.0), 1.0)
                distance = np.sqrt((px - s * dx) ** 2 + (py - s * dy) ** 2)
                alpha = strength[e] * min(max(half_width + 0.5 - distance, 0.0), 1.0)
                w = a[2] + s * (b[2] - a[2])
                if w * (1.0 + solid_slack) < solid_w[row, column]:
                    continue
                if w * (1.0 + glass_slack) < glass_w[row, column]:
                    alpha *= 0.4
                out_alpha[row, column] = max(alpha, out_alpha[row, column])


@njit
def lay_glass(face, w, solid_w, colour, alpha, out_colour):
    """Put a layer of glass over the picture where it is nearer than the solid; colour (f, 3)."""
    height, width = face.shape
    for row in range(height):
        for column in range(width):
            f = face[row, column]
            if f < 0 or w[row, column] < solid_w[row, column]:
                continue
            for d in range(3):
                under = out_colour[row, column, d]
                out_colour[row, column, d] = under + alpha[f] * (colour[f, d] - under)


@njit
def lay_lines(alpha, line_colour, out_colour):
    """Put lines over the picture."""
    height, width = alpha.shape
    for row in range(height):
        for column in range(width):
            a = alpha[row, column]
            if a > 0.0:
                for d in range(3):
                    under = out_colour[row, column, d]
                    out_colour[row, column, d] = under + a * (line_colour[d] - under)


@njit
def paint_backdrop(shadow, origin, rays, eye, ground, low, cell, out_colour):
    """A light backdrop with the shadow map lying on the plane z = ground.

    The ray through pixel (column, row) is rays[0] + column rays[1] + row rays[2]; the shadow map
    starts at low (x, y) with square cells; origin is the brightest point of the backdrop in pixels.
    """
    height, width = out_colour.shape[:2]
    rows, columns = shadow.shape
    for row in range(height):
        for column in range(width):
            dx, dy = (column - origin[0]) / width, (row - origin[1]) / height
            bright = 0.93 - 0.30 * (dx * dx + dy * dy)
            dark = 0.0
            rz = rays[0, 2] + column * rays[1, 2] + row * rays[2, 2]
            if eye[2] > ground and rz < 0.0:
                rx = rays[0, 0] + column * rays[1, 0] + row * rays[2, 0]
                ry = rays[0, 1] + column * rays[1, 1] + row * rays[2, 1]
                t = (ground - eye[2]) / rz
                u = (eye[0] + t * rx - low[0]) / cell - 0.5
                v = (eye[1] + t * ry - low[1]) / cell - 0.5
                if 0.0 <= u < columns - 1 and 0.0 <= v < rows - 1:
                    i, j = int(v), int(u)
                    fv, fu = v - i, u - j
                    above = shadow[i, j] * (1.0 - fu) + shadow[i, j + 1] * fu
                    below = shadow[i + 1, j] * (1.0 - fu) + shadow[i + 1, j + 1] * fu
                    dark = above * (1.0 - fv) + below * fv
            out_colour[row, column, 0] = bright * (1.0 - dark)
            out_colour[row, column, 1] = bright * (1.0 - 0.98 * dark)
            out_colour[row, column, 2] = bright * (1.0 - 0.94 * dark)


@njit
def develop(colour, curve, brightest, out_image):
    """Mean of 2 x 2 pixels after the display curve, a table from 0 to `brightest`, as bytes."""
    height, width = out_image.shape[:2]
    last = curve.shape[0] - 1
    for row in range(height):
        for column in range(width):
            for d in range(3):
                total = 0.0
                for k in range(4):
                    value = colour[2 * row + k // 2, 2 * column + k % 2, d] / brightest
                    total += curve[int(min(max(value, 0.0), 1.0) * last + 0.5)]
                out_image[row, column, d] = np.uint8(255.0 * total / 4.0 + 0.5)
