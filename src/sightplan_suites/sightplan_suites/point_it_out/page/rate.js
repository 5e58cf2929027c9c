/* What is shown as chosen is what the server has confirmed. */

const $ = (id) => document.getElementById(id);

let session = null;  // as the server tells it
let at = 0;          // number of the trace shown
let saving = false;

async function load() {
  const reply = await fetch('session');
  if (!reply.ok) throw new Error((await reply.json()).error);
  session = await reply.json();
  session.scale.forEach((words, index) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = `${index + 1}: ${words}`;
    button.setAttribute('aria-keyshortcuts', String(index + 1));
    button.addEventListener('click', () => rate(index + 1));
    $('scale').append(button);
  });
  $('back').addEventListener('click', () => show(at - 1));
  $('next').addEventListener('click', () => show(at + 1));
  document.addEventListener('keydown', onKey);
  show(Math.max(0, unrated(0)));
}

/** The first trace from a number on, then from the start, that has no rating; -1 for none. */
function unrated(from) {
  const open = session.traces.map((trace, number) => trace.score === null ? number : -1)
    .filter((number) => number >= 0);
  return open.find((number) => number >= from) ?? open[0] ?? -1;
}

function show(number) {
  if (number < 0 || number >= session.traces.length) return;
  at = number;
  $('picture').src = `pictures/${at}`;
  $('picture').alt = `trace ${at + 1}`;
  $('task').textContent = session.traces[at].text;
  marks();
  const after = new Image();
  if (at + 1 < session.traces.length) after.src = `pictures/${at + 1}`;
}

function marks() {
  const score = session.traces[at].score;
  [...$('scale').children].forEach((button, index) =>
    button.setAttribute('aria-pressed', String(score === index + 1)));
  const done = session.traces.filter((trace) => trace.score !== null).length;
  $('bar').max = session.traces.length;
  $('bar').value = done;
  $('counts').textContent = `trace ${at + 1} of ${session.traces.length}, ${done} rated by `
    + session.who;
}

async function rate(score) {
  if (saving) return;
  saving = true;
  const number = at;
  try {
    const reply = await fetch('rate', {
      method: 'POST', headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({number, score})});
    if (!reply.ok) throw new Error((await reply.json()).error);
    session.traces[number].score = score;
    banner('');
    $('said').textContent = `rated ${score}`;
    const next = unrated(number + 1);
    if (next >= 0) show(next);
    else {
      marks();
      $('said').textContent = 'all traces are rated';
    }
  } catch (error) {
    banner(`The rating is not saved (${error.message}). Is the program still running? `
      + 'Choose again to try again.');
  } finally {
    saving = false;
  }
}

function banner(text) {
  $('banner').textContent = text;
  $('banner').hidden = !text;
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (/^[1-5]$/.test(event.key)) rate(Number(event.key));
  else if (event.key === 'ArrowLeft') show(at - 1);
  else if (event.key === 'ArrowRight') show(at + 1);
  else return;
  event.preventDefault();
}

load().catch((error) => banner(`The traces cannot be loaded (${error.message}).`));
