// A dashboard as a page: its JSON and measured data (window.DRAWN), drawn with Grafana's own components.
import 'uplot/dist/uPlot.min.css';

import {
  FieldType,
  ThemeContext,
  createTheme,
  dateTime,
  getDisplayProcessor,
  toDataFrame,
} from '@grafana/data';
import { BigValue, BigValueColorMode, BigValueGraphMode, GlobalStyles, PanelChrome, TimeSeries } from '@grafana/ui';
import { createRoot } from 'react-dom/client';

const CELL_PX = 38; // height of a row of the grid, as in Grafana: 30, and a gap of 8
const GAP_PX = 8;
const { dashboard, data, fault, mode, row, width } = window.DRAWN;
const theme = createTheme({ colors: { mode }, typography: { fontFamily: 'Liberation Sans, sans-serif' } });

function configOf(panel, legend) {
  const { defaults, overrides } = panel.fieldConfig;
  const own = overrides.filter((each) => each.matcher.options === legend).flatMap((each) => each.properties);
  return { ...defaults, displayName: legend, ...Object.fromEntries(own.map(({ id, value }) => [id, value])) };
}

function frameOf(panel, line, index) {
  const frame = toDataFrame({
    fields: [
      { name: 'Time', type: FieldType.time, values: line.times_ms, config: {} },
      { name: line.legend, type: FieldType.number, values: line.values, config: configOf(panel, line.legend) },
    ],
  });
  const [time, value] = frame.fields;
  time.display = getDisplayProcessor({ field: time, theme });
  value.state = { seriesIndex: index, origin: { frameIndex: index, fieldIndex: 1 }, displayName: line.legend };
  const numbers = line.values.filter((each) => each !== null);
  const [min, max] = [Math.min(...numbers), Math.max(...numbers)];
  value.state.range = { min, max, delta: max - min }; // what the line behind a figure is drawn in
  value.display = getDisplayProcessor({ field: value, theme });
  return frame;
}

// All lines on all times, with nothing where Prometheus had no answer, which Grafana does too: a line ends there.
function aligned(lines) {
  return lines.map((line) => {
    const byTime = new Map(line.times_ms.map((at, number) => [at, line.values[number]]));
    return { ...line, times_ms: everyTime, values: everyTime.map((at) => byTime.get(at) ?? null) };
  });
}

const everyTime = [...new Set(Object.values(data).flat().flatMap((line) => line.times_ms))].sort((a, b) => a - b);
const range = {
  from: dateTime(Math.min(...everyTime)),
  to: dateTime(Math.max(...everyTime)),
};
range.raw = { from: range.from, to: range.to };

function Lines({ panel, lines, width, height }) {
  return (
    <TimeSeries
      frames={aligned(lines).map((line, index) => frameOf(panel, line, index))}
      structureRev={1}
      timeRange={range}
      timeZone="utc"
      width={width}
      height={height}
      legend={{ ...panel.options.legend, isVisible: true }}
      replaceVariables={(text) => text}
    >
      {(config) => {
        config.addHook('drawClear', shade);
        return null;
      }}
    </TimeSeries>
  );
}

// Shades the time during which there was a fault.
function shade(plot) {
  if (!fault) {
    return;
  }
  const [from, to] = [fault.began_ms, fault.ended_ms].map((at) => plot.valToPos(at, 'x', true));
  const { left, top, width: all, height } = plot.bbox;
  const begins = Math.max(from, left);
  plot.ctx.save();
  plot.ctx.fillStyle = mode === 'dark' ? 'rgba(255, 120, 100, 0.16)' : 'rgba(220, 60, 40, 0.11)';
  plot.ctx.fillRect(begins, top, Math.min(to, left + all) - begins, height);
  plot.ctx.restore();
}

function Figure({ panel, lines, width, height }) {
  const frame = frameOf(panel, lines[0], 0);
  const field = frame.fields[1];
  const last = field.values[field.values.length - 1];
  return (
    <BigValue
      theme={theme}
      width={width}
      height={height}
      value={field.display(last)}
      graphMode={BigValueGraphMode.Area}
      colorMode={BigValueColorMode.Value}
      sparkline={{ x: frame.fields[0], y: field }}
    />
  );
}

function Panel({ panel, top }) {
  const column = width / 24;
  const { x, y, w, h } = panel.gridPos;
  const place = {
    position: 'absolute',
    left: x * column + GAP_PX / 2,
    top: (y - top) * CELL_PX + GAP_PX / 2,
  };
  const size = { width: w * column - GAP_PX, height: h * CELL_PX - GAP_PX };
  if (panel.type === 'row') {
    return <h2 style={{ ...place, margin: 0, fontSize: 18, color: theme.colors.text.primary }}>{panel.title}</h2>;
  }
  const lines = data[panel.title];
  const Drawn = panel.type === 'stat' ? Figure : Lines;
  return (
    <div style={{ ...place, ...size }}>
      <PanelChrome title={panel.title} {...size}>
        {(width, height) =>
          lines.length ? <Drawn {...{ panel, lines, width, height }} /> : panel.fieldConfig.defaults.noValue || 'No data'
        }
      </PanelChrome>
    </div>
  );
}

function ofRow(panels) {
  const first = panels.findIndex((panel) => panel.type === 'row' && panel.title === row);
  const rest = panels.slice(first + 1);
  const next = rest.findIndex((panel) => panel.type === 'row');
  return [panels[first], ...(next < 0 ? rest : rest.slice(0, next))];
}

const shown = row ? ofRow(dashboard.panels) : dashboard.panels;
const top = Math.min(...shown.map((panel) => panel.gridPos.y));
document.body.style.background = theme.colors.background.canvas;
createRoot(document.getElementById('page')).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    {shown.map((panel) => (
      <Panel key={panel.title} panel={panel} top={top} />
    ))}
  </ThemeContext.Provider>
);
