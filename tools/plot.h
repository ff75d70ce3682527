/* Charts as SVG inside one HTML page without scripts: what fit_model and bench_rma draw with. Values that
   do not fit an axis are moved to its border. */
#ifndef NBC_PLOT_H_INCLUDED
#define NBC_PLOT_H_INCLUDED
#include <math.h>
#include <stdio.h>

#if defined(__GNUC__)
#  define NBC_PLOT_FN __attribute__((unused)) static
#else
#  define NBC_PLOT_FN static
#endif

typedef enum plot_scale { PLOT_LINEAR = 0, PLOT_DECADES, PLOT_BYTES } plot_scale;
typedef struct plot {
  FILE *out;
  double left, top, width, height; /* of the field inside the axes */
  double x_lo, x_hi, y_lo, y_hi;
  plot_scale x_scale, y_scale;
} plot;

static const char *const plot_colours[] = {"#2471a3", "#c0392b", "#1e8449", "#8e44ad",
                                           "#b9770e", "#148f77", "#5d6d7e", "#000000"};
enum { PLOT_COLOURS = sizeof plot_colours / sizeof *plot_colours };

NBC_PLOT_FN double plot_share(double v, double lo, double hi, plot_scale scale) {
  const double share = scale ? log(fmax(v, lo) / lo) / log(hi / lo) : (v - lo) / (hi - lo);
  return share > 0 ? fmin(share, 1) : 0; /* NaN: 0 */
}
NBC_PLOT_FN double plot_x(const plot *p, double v) {
  return p->left + p->width * plot_share(v, p->x_lo, p->x_hi, p->x_scale);
}
NBC_PLOT_FN double plot_y(const plot *p, double v) {
  return p->top + p->height * (1 - plot_share(v, p->y_lo, p->y_hi, p->y_scale));
}

NBC_PLOT_FN void plot_begin(FILE *out, const char *title, int width, int height) {
  fprintf(out,
          "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>%s</title></head>\n"
          "<body style='font-family:sans-serif;max-width:%dpx;margin:auto'><h1>%s</h1>\n"
          "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' "
          "font-size='12'>\n<rect width='%d' height='%d' fill='white'/>\n",
          title, width, title, width, height, width, height);
}
/* Text after the chart goes between the two calls. */
NBC_PLOT_FN void plot_end_chart(FILE *out) { fprintf(out, "</svg>\n"); }
NBC_PLOT_FN void plot_end(FILE *out) { fprintf(out, "</body></html>\n"); }

NBC_PLOT_FN const char *plot_label(char *text, size_t bytes, double v, plot_scale scale) {
  if (scale == PLOT_BYTES && v >= 1048576)
    snprintf(text, bytes, "%gM", v / 1048576);
  else if (scale == PLOT_BYTES && v >= 1024)
    snprintf(text, bytes, "%gk", v / 1024);
  else
    snprintf(text, bytes, "%g", v);
  return text;
}
/* The next tick after v; at most about ten on the axis. */
NBC_PLOT_FN double plot_next(double v, double lo, double hi, plot_scale scale) {
  if (scale == PLOT_BYTES) return v * (hi / lo > 4096 ? 16 : hi / lo > 64 ? 4 : 2);
  if (scale == PLOT_DECADES) return v * (hi / lo > 1e10 ? 100 : 10);
  const double tenth = (hi - lo) / 10, power = pow(10, floor(log10(tenth)));
  const double step = tenth > 5 * power ? 10 * power : tenth > 2 * power ? 5 * power : 2 * power;
  return (floor(v / step + 1e-6) + 1) * step;
}
NBC_PLOT_FN double plot_first(double lo, double hi, plot_scale scale) {
  if (scale == PLOT_BYTES) return pow(2, ceil(log2(lo) - 1e-9));
  if (scale == PLOT_DECADES) return pow(10, ceil(log10(lo) - 1e-9));
  return plot_next(lo - (hi - lo) * 1e-6, lo, hi, scale);
}

NBC_PLOT_FN void plot_axes(const plot *p, const char *title, const char *x_name,
                           const char *y_name) {
  char text[32];
  fprintf(p->out,
          "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' stroke='black'/>\n"
          "<text x='%.1f' y='%.1f' font-weight='bold'>%s</text>\n"
          "<text x='%.1f' y='%.1f' text-anchor='middle'>%s</text>\n"
          "<text transform='translate(%.1f %.1f) rotate(-90)' text-anchor='middle'>%s</text>\n",
          p->left, p->top, p->width, p->height, p->left, p->top - 8, title, p->left + p->width / 2,
          p->top + p->height + 32, x_name, p->left - 44, p->top + p->height / 2, y_name);
  for (double v = plot_first(p->x_lo, p->x_hi, p->x_scale); v <= p->x_hi * 1.000001;
       v = plot_next(v, p->x_lo, p->x_hi, p->x_scale))
    fprintf(p->out,
            "<path d='M%.1f %.1fV%.1f' stroke='#ddd'/><text x='%.1f' y='%.1f' "
            "text-anchor='middle'>%s</text>\n",
            plot_x(p, v), p->top, p->top + p->height, plot_x(p, v), p->top + p->height + 15,
            plot_label(text, sizeof text, v, p->x_scale));
  for (double v = plot_first(p->y_lo, p->y_hi, p->y_scale); v <= p->y_hi * 1.000001;
       v = plot_next(v, p->y_lo, p->y_hi, p->y_scale))
    fprintf(p->out,
            "<path d='M%.1f %.1fH%.1f' stroke='#ddd'/><text x='%.1f' y='%.1f' "
            "text-anchor='end'>%s</text>\n",
            p->left, plot_y(p, v), p->left + p->width, p->left - 4, plot_y(p, v) + 4,
            plot_label(text, sizeof text, fabs(v) < 1e-12 ? 0 : v, p->y_scale));
}

NBC_PLOT_FN void plot_line(const plot *p, const double *x, const double *y, int count,
                           const char *colour, const char *dash) {
  fprintf(p->out,
          "<polyline fill='none' stroke='%s' stroke-width='1.5' stroke-dasharray='%s' points='",
          colour, dash);
  for (int i = 0; i < count; i++) fprintf(p->out, "%.1f,%.1f ", plot_x(p, x[i]), plot_y(p, y[i]));
  fprintf(p->out, "'/>\n");
}
NBC_PLOT_FN void plot_point(const plot *p, double x, double y, const char *colour) {
  fprintf(p->out, "<circle cx='%.1f' cy='%.1f' r='1.6' fill='%s' fill-opacity='0.5'/>\n",
          plot_x(p, x), plot_y(p, y), colour);
}
NBC_PLOT_FN void plot_key(const plot *p, int row, const char *colour, const char *dash,
                          const char *name) {
  const double y = p->top + 16 + 16 * row;
  fprintf(p->out,
          "<path d='M%.1f %.1fh24' stroke='%s' stroke-width='2' stroke-dasharray='%s'/>"
          "<text x='%.1f' y='%.1f'>%s</text>\n",
          p->left + 10, y - 4, colour, dash, p->left + 40, y, name);
}
#endif
