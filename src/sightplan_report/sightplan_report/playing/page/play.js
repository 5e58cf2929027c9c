/* What is shown is what the server says: a move counts when it has come back as made. */

const $ = (id) => document.getElementById(id);
const SVG = 'http://www.w3.org/2000/svg';
const ARROWS = {ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right'};
/* Outlines of pieces in a square of 24 units, as pictures from above or flat ones have them. */
const OUTLINES = {
  cube: ['rect', {x: 3, y: 3, width: 18, height: 18}],
  tile: ['rect', {x: 1, y: 1, width: 22, height: 22, rx: 3}],
  sphere: ['circle', {cx: 12, cy: 12, r: 9.5}],
  pyramid: ['polygon', {points: '12,2.5 22,21 2,21'}],
  cylinder: ['polygon', {points: '7,3 17,3 22.5,12 17,21 7,21 1.5,12'}],
  cone: ['path', {d: 'M2 18 A10 12 0 0 1 22 18 Z'}],
  prism: ['polygon', {points: '12,1.5 21,12 12,22.5 3,12'}],
};

let state = null;    // as the server told it last
let chosen = '';     // name of the piece that arrows move
let held = false;    // whether Ctrl is held
let pinned = false;  // whether the button shows the goal
let beside = null;   // whether the goal is shown beside the board; null: as the command says
let sure = false;    // whether giving up was asked for once
let gone = false;    // whether the server no longer answers

async function listen() {
  for (let known = ''; ;) {
    try {
      const reply = await fetch(known === '' ? 'state' : `state/${known}`);
      if (!reply.ok) throw new Error((await reply.json()).error);
      take(await reply.json());
      known = state.version;
      if (gone) banner('');
      gone = false;
      if (state.phase === 'ended') return;
    } catch (error) {
      gone = true;
      banner(`The program does not answer (${error.message}). If it was ended, the same command `
        + 'with the same --out goes on where you are.');
      await new Promise((resolve) => setTimeout(resolve, 2000));
      known = '';
    }
  }
}

async function send(path, content) {
  try {
    const reply = await fetch(path, {
      method: 'POST', headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({puzzle: state.puzzle, ...content})});
    const told = await reply.json();
    if (!reply.ok) {
      say(told.error, true);
      return false;
    }
    take(told);
    return true;
  } catch (error) {
    say(`not sent (${error.message})`, true);
    return false;
  }
}

function take(told) {
  if (state && told.version < state.version) return;
  const before = state;
  state = told;
  const fresh = !before || before.puzzle !== state.puzzle || before.phase !== state.phase;
  if (fresh) {
    pinned = sure = false;
    $('line').value = '';
    say('');
  }
  if (!before || JSON.stringify(before.pieces) !== JSON.stringify(state.pieces)) pieces();
  if (before && state.log.length > before.log.length) {
    const last = state.log.at(-1);
    say(last.refused ? `${last.words}: ${last.refused}` : '', Boolean(last.refused));
  }
  header();
  controls();
  card(fresh);
  view();
}

function header() {
  const done = state.puzzle - (state.phase === 'ready' || state.phase === 'playing' ? 1 : 0);
  $('bar').max = state.puzzles || 1;
  $('bar').value = done;
  $('counts').textContent = state.phase === 'opening' ? '' : [
    `puzzle ${state.puzzle} of ${state.puzzles}`, solved(), state.player].filter(Boolean).join(' · ');
}

function controls() {
  $('controls').hidden = !state.pieces.length;
  $('moves').textContent = `${state.moves} of ${state.budget} moves made`;
  $('waiting').textContent = state.waiting ? `${state.waiting} under way` : '';
  const playing = state.phase === 'playing';
  for (const one of $('controls').querySelectorAll('button, input')) one.disabled = !playing;
  $('show').disabled = $('beside').disabled = !state.goal;
  $('done').hidden = state.stops_at_goal;
  $('line').placeholder = state.example;
  $('up').textContent = sure ? 'Really give up?' : 'Give up this puzzle';
  $('log').replaceChildren(...state.log.map((move) => {
    const item = document.createElement('li');
    item.textContent = move.words;
    if (move.refused) {
      const why = document.createElement('span');
      why.textContent = ` – ${move.refused}`;
      item.append(why);
    }
    return item;
  }));
  $('log').scrollTop = $('log').scrollHeight;
}

function card(fresh) {
  const all = state.puzzle >= state.puzzles;
  const verdict = state.verdict && state.verdict[0].toUpperCase() + state.verdict.slice(1);
  const words = {
    opening: ['One moment', '', ''],
    ready: [`Puzzle ${state.puzzle} of ${state.puzzles}`, state.rules, 'Start'],
    over: [verdict, `${plural(state.moves, 'move')} made.`, all ? '' : 'Next puzzle'],
    ended: [all ? verdict || 'No puzzle is left' : 'The program was ended',
      `${[`${state.puzzle} of ${state.puzzles} puzzles are played`, solved()].filter(Boolean)
        .join(', ')}. You can close this page.`, ''],
  }[state.phase];
  $('card').hidden = !words;
  if (!words) return;
  [$('headline').textContent, $('about').textContent, $('next').textContent] = words;
  $('next').hidden = !words[2];
  if (fresh && words[2]) $('next').focus();
}

/** Who says when they are done is not told whether they were right. */
const solved = () => state.stops_at_goal ? `${state.solved} solved` : '';
const plural = (number, word) => `${number} ${word}${number === 1 ? '' : 's'}`;

/** The picture or text of the moment, or of the goal while that is asked for. */
function view() {
  const both = Boolean(state.goal) && (beside ?? state.goal_beside);
  const goal = Boolean(state.goal) && !both && (held || pinned);
  picture($('now'), state.now, goal);
  picture($('goal'), state.goal, !goal && !both);
  $('frame').classList.toggle('beside', both);
  $('goal-words').hidden = !both || state.goal.picture !== null;
  $('goal-words').textContent = both ? state.goal.text ?? '' : '';
  $('beside').setAttribute('aria-pressed', String(both));
  const shown = goal ? state.goal : state.now;
  $('words').hidden = !shown || shown.picture !== null;
  $('words').textContent = shown?.text ?? '';
  $('words').classList.toggle('goal', goal);
  $('show').setAttribute('aria-pressed', String(goal));
  $('card').classList.toggle('aside', goal);
}

function picture(image, seen, under) {
  const number = seen?.picture ?? null;
  image.hidden = number === null;
  image.classList.toggle('under', under);
  if (number === null) {
    image.removeAttribute('src');
    delete image.dataset.number;
  } else if (image.dataset.number !== String(number)) {
    image.dataset.number = String(number);
    image.src = `pictures/${number}`;
    if (image.id === 'now') image.alt = `the puzzle after ${plural(state.moves, 'move')}`;
  }
}

function pieces() {
  $('pieces').classList.toggle('many', state.pieces.some((piece) => piece.number !== null));
  $('pieces').replaceChildren(...state.pieces.map((piece) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.dataset.name = piece.name;
    button.append(swatch(piece));
    if (piece.number === null) button.append(piece.words);
    else button.setAttribute('aria-label', piece.words);
    button.addEventListener('click', () => choose(piece.name));
    return button;
  }));
  choose('');
}

function swatch(piece) {
  const [kind, where] = OUTLINES[piece.shape] ?? OUTLINES.cube;
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const shape = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries({...where, fill: piece.colour}))
    shape.setAttribute(name, value);
  svg.append(shape);
  if (piece.number !== null) {
    const text = document.createElementNS(SVG, 'text');
    for (const [name, value] of Object.entries({x: 12, y: 16, 'text-anchor': 'middle'}))
      text.setAttribute(name, value);
    text.textContent = piece.number;
    svg.append(text);
  }
  return svg;
}

function choose(name) {
  chosen = name;
  for (const button of $('pieces').children)
    button.setAttribute('aria-pressed', String(button.dataset.name === name));
}

function move(direction) {
  if (!chosen) say('choose a piece first', true);
  else send('move', {piece: chosen, direction});
}

function say(text, bad = false) {
  $('message').textContent = text;
  $('message').classList.toggle('bad', bad && Boolean(text));
}

function banner(text) {
  $('banner').textContent = text;
  $('banner').hidden = !text;
}

function onKey(event) {
  if (event.key === 'Control') {
    held = true;
    view();
  }
  if (event.ctrlKey || event.altKey || event.metaKey || state.phase !== 'playing') return;
  const typing = event.target === $('line');
  const direction = ARROWS[event.key];
  if (direction && !(typing && $('line').value)) {
    event.preventDefault();
    move(direction);
  } else if (!typing && /^[a-z]$/i.test(event.key)) $('line').focus();  // which then gets it
}

function release() {
  held = false;
  if (state) view();
}

$('pad').addEventListener('click', (event) => {
  const direction = event.target.dataset.direction;
  if (direction) move(direction);
});
$('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const line = $('line').value;
  if (line.trim() && await send('type', {line}) && $('line').value === line) $('line').value = '';
});
$('show').addEventListener('click', () => {
  pinned = !pinned;
  view();
});
$('beside').addEventListener('click', () => {
  beside = !(beside ?? state.goal_beside);
  view();
});
$('up').addEventListener('click', () => {
  if (sure) send('give_up', {});
  sure = !sure;
  controls();
});
$('up').addEventListener('blur', () => {
  sure = false;
  if (state) controls();
});
$('done').addEventListener('click', () => send('type', {line: 'done'}));
$('next').addEventListener('click', () => send('go_on', {}));
document.addEventListener('keydown', (event) => state && onKey(event));
document.addEventListener('keyup', (event) => event.key === 'Control' && release());
window.addEventListener('blur', release);
listen();
