/* What is shown as labelled is what the server has confirmed; what is on its way looks so. Labels
   are sent one after the other, again and again until each is confirmed: none is lost or overtaken
   while the page is open. */

const RETRY_MS = [500, 1000, 2000, 4000];
const PATIENCE_MS = 10000;
const LEAST_LABELS = 5, LEAST_SECONDS = 30;  // before the time that is left is estimated
const WORDS = {yes: 'yes', no: 'no', unclear: 'cannot tell', null: 'not labelled'};
const $ = (id) => document.getElementById(id);

let session = null;     // as the server tells it; question.label is confirmed
let image = 0;          // number of the picture shown
let question = 0;       // number of its current question
let options = [];       // elements, one a question
const queue = [];       // labels that are not confirmed: {image, question, body}
const undoable = [];    // what can be undone: lists of {image, question, label}
let sending = false;
let trouble = '';       // why labels cannot be saved just now
let scale = 1;
const progress = {all: 0, done: 0, images: 0};  // questions; confirmed labels; pictures left
const seconds = new Map();  // picture -> how long it was looked at, here
let begun = 0;          // labels that were there when the page began

const questions = () => session.images[image].questions;
const current = () => questions()[question];
/** The label that a question will have once all is confirmed. */
const wanted = (q) => q.pending === undefined ? q.label : q.pending;

/* ---------- saving ---------- */

function put(imageNumber, questionNumber, label) {
  const shown = session.images[imageNumber];
  const q = shown.questions[questionNumber];
  q.pending = label;
  queue.push({image: shown, question: q, body: {image: shown.id, atom: q.atom, label}});
  showMarks();
  showTrouble();
  pump();
}

async function pump() {
  if (sending) return;
  sending = true;
  for (let failures = 0; queue.length;) {
    const item = queue[0];
    const error = await send(item);
    if (error === '') {
      failures = 0;
      queue.shift();
      if (!queue.some((other) => other.question === item.question)) delete item.question.pending;
      if (trouble) banner('');
      trouble = '';
      showMarks();
      showProgress();
    } else {
      failures += 1;
      trouble = error;
      showTrouble();
      await new Promise((done) => setTimeout(done,
        RETRY_MS[Math.min(failures, RETRY_MS.length) - 1]));
    }
  }
  sending = false;
}

function showTrouble() {
  if (!trouble) return;
  const number = queue.length === 1 ? '1 label is' : `${queue.length} labels are`;
  banner(`${trouble} ${number} not saved yet; trying again. Keep this page open.`);
}

/** Send one label; returns what is wrong, '' for nothing. */
async function send(item) {
  let reply;
  try {
    reply = await fetch('label', {
      method: 'POST', headers: {'Content-Type': 'application/json'},
      body: JSON.stringify(item.body), signal: AbortSignal.timeout(PATIENCE_MS)});
  } catch {
    return 'No connection: does "sightplan label" still run?';
  }
  let content = {};
  try {
    content = await reply.json();
  } catch {
    return 'The connection broke.';
  }
  if (!reply.ok) return `The server refuses: ${content.error || reply.status}.`;
  confirm(item, content.label);
  return '';
}

function confirm(item, label) {
  const change = (label !== null) - (item.question.label !== null);
  const before = item.image.left;
  item.question.label = label;
  item.image.left -= change;
  progress.done += change;
  progress.images += (item.image.left > 0) - (before > 0);
}

/** Count what is labelled when the page begins. */
function count() {
  for (const each of session.images) {
    const labelled = each.questions.filter((q) => q.label !== null).length;
    each.left = each.questions.length - labelled;
    progress.all += each.questions.length;
    progress.done += labelled;
    progress.images += each.left > 0;
  }
  begun = progress.done;
}

window.addEventListener('beforeunload', (event) => {
  if (queue.length) event.preventDefault();
});

/* ---------- acting ---------- */

function label(value) {
  const q = current();
  if (wanted(q) !== value) {
    undoable.push([{image, question, label: wanted(q)}]);
    put(image, question, value);
  }
  if (value === null) return show();
  const open = nextOpen(question);
  say(`${WORDS[value]}: ${q.text}`);
  if (open !== -1) select(open);
  else {
    show();
    say('All questions of this picture have a label. Enter: next picture.');
  }
}

/** The next question of this picture without a label, from the beginning again after the end. */
function nextOpen(after) {
  const all = questions();
  for (let n = 1; n < all.length; n += 1) {
    const candidate = (after + n) % all.length;
    if (wanted(all[candidate]) === null) return candidate;
  }
  return -1;
}

function restAreNo() {
  const group = current().predicate;
  const changed = [];
  questions().forEach((q, number) => {
    if (q.predicate === group && wanted(q) === null) {
      changed.push({image, question: number, label: null});
      put(image, number, 'no');
    }
  });
  if (!changed.length) return say(`No question about ${group} is left.`);
  undoable.push(changed);
  say(`${changed.length} questions about ${group}: no`);
  const open = nextOpen(question);
  if (open !== -1) select(open);
  else show();
}

function undo() {
  const last = undoable.pop();
  if (!last) return say('There is nothing to undo here. Delete takes a label back.');
  last.forEach((was) => put(was.image, was.question, was.label));
  if (last[0].image !== image) open(last[0].image, last[0].question);
  else select(last[0].question);
  say(`Undone: ${current().text} ${WORDS[last[0].label]}`);
}

function move(by) {
  select(Math.max(0, Math.min(questions().length - 1, question + by)));
  announce();
}

function next() {
  const n = session.images.length;
  for (let by = 1; by <= n; by += 1) {
    const candidate = (image + by) % n;
    if (session.images[candidate].questions.some((q) => wanted(q) === null)) {
      return open(candidate);
    }
  }
  banner('All questions have a label. Thank you: close this page and end "sightplan label" with '
    + 'Ctrl-C.');
}

const turn = (by) => open((image + by + session.images.length) % session.images.length);

function zoom(factor) {
  scale = Math.max(1, Math.min(6, scale * factor));
  const percent = `${scale * 100}%`;
  $('picture').style.width = $('picture').style.height = percent;
  sharpen();
}

/* ---------- showing ---------- */

function open(number, at = -1) {
  if (!trouble) banner('');
  image = number;
  const own = questions();
  const first = own.findIndex((q) => wanted(q) === null);
  question = at >= 0 ? at : Math.max(0, first);
  scale = 1;
  history.replaceState(null, '', `#${number + 1}`);
  build();
  showPicture();
  select(question);
  announce();
  for (const by of [1, 2]) new Image().src = address(session.images[(number + by)
    % session.images.length]);
}

const address = (shown) => `pictures/${encodeURIComponent(shown.id)}`;

function showPicture() {
  const picture = $('picture');
  picture.style.width = picture.style.height = '';
  picture.hidden = false;
  $('no-picture').hidden = true;
  picture.alt = `picture ${image + 1} of ${session.images.length}`;
  picture.src = address(session.images[image]);
}

/** Small pictures are shown in squares, large ones smoothly. */
function sharpen() {
  const picture = $('picture');
  const box = picture.getBoundingClientRect();
  const factor = Math.min(box.width / picture.naturalWidth, box.height / picture.naturalHeight);
  picture.classList.toggle('crisp', factor >= 2);
}

function build() {
  const list = $('questions');
  list.replaceChildren();
  options = [];
  let group = null;
  questions().forEach((q, number) => {
    if (group === null || group.dataset.predicate !== q.predicate) {
      group = element('div', 'group');
      group.dataset.predicate = q.predicate;
      group.setAttribute('role', 'group');
      group.setAttribute('aria-label', q.predicate);
      const head = element('span');
      head.append(element('span', '', q.predicate), element('span', 'count'));
      head.setAttribute('aria-hidden', 'true');
      group.append(head);
      list.append(group);
    }
    const option = element('div');
    option.id = `question-${number}`;
    option.setAttribute('role', 'option');
    option.append(element('span', '', q.text), element('span', 'mark'));
    option.addEventListener('click', () => {
      select(number);
      list.focus({preventScroll: true});
    });
    group.append(option);
    options.push(option);
  });
  list.scrollTop = 0;
  showMarks();
}

function element(name, kind = '', text = '') {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}

function select(number) {
  question = number;
  options.forEach((option, n) => option.setAttribute('aria-selected', String(n === number)));
  $('questions').setAttribute('aria-activedescendant', options[number].id);
  options[number].scrollIntoView({block: 'nearest'});
  show();
}

function show() {
  const q = current();
  $('question').textContent = q.text;
  $('where').textContent = `Picture ${image + 1} of ${session.images.length}, question `
    + `${question + 1} of ${questions().length} \u00b7 ${session.images[image].episode}`;
  $('answers').hidden = !session.showAnswers;
  if (session.showAnswers) {
    $('answers').textContent = q.answers.map((a) => `${a.model || 'model'}: ${a.answer}`)
      .join(' \u00b7 ');
  }
  for (const button of document.querySelectorAll('.buttons [data-do]')) {
    if (button.dataset.do in WORDS) {
      button.setAttribute('aria-pressed', String(wanted(q) === button.dataset.do));
    }
  }
  $('next').classList.toggle('ready', questions().every((each) => wanted(each) !== null));
  showProgress();
}

function showMarks() {
  const counts = new Map();
  questions().forEach((q, number) => {
    const value = wanted(q);
    const mark = options[number].lastElementChild;
    mark.className = `mark ${value || ''} ${q.pending === undefined ? '' : 'pending'}`;
    const state = WORDS[value] + (q.pending === undefined ? '' : ', being saved');
    options[number].setAttribute('aria-label', `${q.text} ${state}`);
    const [done, all] = counts.get(q.predicate) || [0, 0];
    counts.set(q.predicate, [done + (q.label !== null), all + 1]);
  });
  for (const group of document.querySelectorAll('.group')) {
    group.querySelector('.count').textContent = counts.get(group.dataset.predicate).join(' / ');
  }
}

function showProgress() {
  const {all, done, images} = progress;
  $('bar').value = done / all;
  $('counts').textContent = `${done} of ${all} labelled, ${images} `
    + `${images === 1 ? 'picture' : 'pictures'} left`;
  document.title = `${done}/${all} \u00b7 sightplan label`;
  const spent = [...seconds.values()].reduce((a, b) => a + b, 0);
  const here = `${clock(seconds.get(image) || 0)} on this picture`;
  const labelled = done - begun;
  const left = labelled >= LEAST_LABELS && spent >= LEAST_SECONDS && done < all
    ? `, about ${clock(spent / labelled * (all - done))} left` : '';
  $('time').textContent = here + left;
}

function clock(total) {
  const whole = Math.round(total);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
    .map((part) => String(part).padStart(2, '0'));
  return (parts[0] === '00' ? parts.slice(1) : parts).join(':').replace(/^0/, '');
}

function banner(text) {
  $('banner').textContent = text;
  $('banner').hidden = !text;
}

const say = (text) => { $('said').textContent = text; };
const announce = () => say(`${current().text} ${WORDS[wanted(current())]}`);

/* ---------- keys, buttons, time ---------- */

const ACTIONS = {
  yes: () => label('yes'), no: () => label('no'), unclear: () => label('unclear'),
  clear: () => label(null), undo, next, rest: restAreNo,
  back: () => turn(-1), forth: () => turn(1), down: () => move(1), up: () => move(-1),
  larger: () => zoom(1.5), smaller: () => zoom(1 / 1.5),
  help: () => $('keys').showModal(),
};
const KEYS = {
  y: 'yes', 1: 'yes', n: 'no', 2: 'no', u: 'unclear', 3: 'unclear',
  backspace: 'undo', z: 'undo', delete: 'clear', x: 'clear',
  arrowdown: 'down', j: 'down', s: 'down', arrowup: 'up', k: 'up', w: 'up',
  enter: 'next', ' ': 'next', arrowright: 'forth', arrowleft: 'back',
  '+': 'larger', '=': 'larger', '-': 'smaller', '?': 'help',
};

document.addEventListener('keydown', (event) => {
  if (session === null || $('keys').open) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  if (event.target.closest('button') && (key === 'enter' || key === ' ')) return;
  const action = key === 'n' && event.shiftKey ? 'rest' : KEYS[key];
  if (action === undefined) return;
  event.preventDefault();
  if (event.repeat && !['down', 'up', 'larger', 'smaller'].includes(action)) return;
  ACTIONS[action]();
});

document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-do]');
  if (session === null || !button) return;
  ACTIONS[button.dataset.do]();
  if (event.detail) $('questions').focus({preventScroll: true});  // keys go on after a click
});
$('help').addEventListener('click', ACTIONS.help);

$('picture').addEventListener('load', sharpen);
$('picture').addEventListener('error', () => {
  $('picture').hidden = true;
  $('no-picture').hidden = false;
  $('no-picture').textContent = 'This picture cannot be shown (is its bag still there?). Go on '
    + 'with the next one.';
});
new ResizeObserver(() => session && sharpen()).observe($('frame'));

setInterval(() => {
  if (session === null || document.hidden) return;
  seconds.set(image, (seconds.get(image) || 0) + 1);
  showProgress();
}, 1000);

/* ---------- beginning ---------- */

async function begin() {
  for (let failures = 0; ; failures += 1) {
    try {
      const reply = await fetch('session');
      const content = await reply.json();
      if (!reply.ok) return banner(content.error);
      session = content;
      break;
    } catch {
      banner('No connection: does "sightplan label" still run? Trying again.');
      await new Promise((done) => setTimeout(done,
        RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]));
    }
  }
  banner('');
  count();
  const asked = Number(window.location.hash.slice(1)) - 1;
  open(asked in session.images ? asked : session.start);
  $('questions').focus({preventScroll: true});
}

begin();
