'use strict';
// The page works without this: it only sorts tables, filters the lists of episodes and
// samples, and turns from one to the next with the keys "p" and "n".

const value = (cell) => {
  const text = cell.dataset.v ?? cell.textContent.trim();
  const number = Number(text);
  return text !== '' && Number.isFinite(number) ? number : text;
};

const compare = (a, b) => {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'number') return -1;
  if (typeof b === 'number') return 1;
  return a.localeCompare(b, 'en', { numeric: true });
};

const sort = (table, column) => {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const up = heads[column].getAttribute('aria-sort') !== 'ascending';
  heads.forEach((head) => head.removeAttribute('aria-sort'));
  heads[column].setAttribute('aria-sort', up ? 'ascending' : 'descending');
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [value(row.cells[column]), row]);
  const empty = ([key]) => key === '' || key === '–';
  rows.sort(([a], [b]) => {
    // What is not known stays at the end, whatever the order.
    if (empty([a]) || empty([b])) return empty([a]) - empty([b]);
    return up ? compare(a, b) : compare(b, a);
  });
  body.append(...rows.map(([, row]) => row));
};

document.querySelectorAll('table.sortable').forEach((table) => {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    head.title = 'sort by this column';
    head.addEventListener('click', () => sort(table, column));
    head.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        sort(table, column);
      }
    });
  });
});

document.querySelectorAll('form.filter').forEach((form) => {
  const rows = [...document.querySelectorAll(`#${form.dataset.list} tbody tr`)];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const apply = () => {
    const wanted = [...new FormData(form)].filter(([, text]) => text !== '');
    let shown = 0;
    rows.forEach((row, index) => {
      row.hidden = !wanted.every(([name, text]) => (
        name === 'text' ? texts[index].includes(text.toLowerCase()) : row.dataset[name] === text));
      shown += !row.hidden;
    });
    form.querySelector('.count').textContent = `${shown} of ${rows.length} shown`;
  };
  form.hidden = false;
  form.addEventListener('input', apply);
  form.addEventListener('submit', (event) => event.preventDefault());
  apply();
});

document.addEventListener('keydown', (event) => {
  if (event.target.matches('input, select') || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const turn = { n: 'next', p: 'prev' }[event.key];
  const open = [...document.querySelectorAll('.episode:not(.alone)')].find((e) => e.offsetParent);
  open?.querySelector(`.turn a[rel=${turn}]`)?.click();
});
