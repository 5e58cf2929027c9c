"""Records and replies as people and other tools write them, who never saw our format's page.

They were written before the readers took them. ``RECORDS``: name to the file's content and what is
to come of it: the kinds of instruction of its items, or words of the refusal. ``REPLIES``: name to
the text and what is read of it: its steps, or words of the refusal.
"""

from __future__ import annotations

PICTURE = 'pictures/desk.png'
SIZE = (1280, 720)
_DRAWER = [700, 400, 1000, 560]
_CUP = [100, 200, 180, 300]
_PLAN = [{'action': 'grasp', 'target': 'blue cup', 'bbox': _CUP},
         {'action': 'place', 'target': 'drawer', 'bbox': _DRAWER}]
_BASE = {'id': 'desk-1', 'image': PICTURE, 'coords': 'pixel_xyxy', 'plan': _PLAN}
BOTH = ['explicit', 'implicit']

RECORDS = {
    # one record, both wordings
    'a mapping of both': ({**_BASE, 'instructions': {
        'explicit': 'put the blue cup into the drawer', 'implicit': 'tidy up'}}, BOTH),
    'two fields': ({**_BASE, 'instruction_explicit': 'put the blue cup into the drawer',
                    'instruction_implicit': 'tidy up'}, BOTH),
    'two fields the other way round': ({
        **_BASE, 'explicit_instruction': 'put the blue cup into the drawer',
        'implicit_instruction': 'tidy up'}, BOTH),
    'a list with kinds': ({**_BASE, 'instructions': [
        {'type': 'explicit', 'text': 'put the blue cup into the drawer'},
        {'type': 'implicit', 'text': 'tidy up'}]}, BOTH),
    'only the abstract one': ({**_BASE, 'implicit': 'tidy up'}, ['implicit']),
    'a list without kinds': ({**_BASE, 'instructions': [
        'put the blue cup into the drawer', 'tidy up']}, 'explicit and implicit'),
    # what a hurried person leaves out
    'no kind at all': ({**_BASE, 'instruction': 'tidy up'}, 'explicit or implicit'),
    'no convention, pixels': ({
        **{name: value for name, value in _BASE.items() if name != 'coords'},
        'plan': [{**_PLAN[0], 'bbox': [1010, 200, 1080, 300]}, _PLAN[1]],
        'explicit': 'put it in'}, 'pixel_xyxy'),
    'no convention, fractions': ({
        'id': 3, 'image': PICTURE, 'explicit': 'put it in', 'plan': [
            {'action': 'grasp', 'target': 'cup', 'bbox': [0.1, 0.2, 0.15, 0.4]},
            {'action': 'place', 'target': 'drawer', 'bbox': [0.5, 0.5, 0.8, 0.8]}]}, 'unit_xyxy'),
    'a convention without its unit': ({**_BASE, 'coords': 'xyxy', 'explicit': 'put it in'},
                                      'pixel_xyxy, unit_xyxy'),
    'an export of COCO': ({
        'id': 9, 'file_name': PICTURE, 'width': 1280, 'height': 720, 'bbox_format': 'coco',
        'explicit': 'put it in', 'plan': [
            {'action': 'grasp', 'label': 'cup', 'bbox': [100, 200, 80, 100]},
            {'action': 'place', 'label': 'drawer', 'bbox': [700, 400, 300, 160]}]}, ['explicit']),
    # the paper's own form
    'a plan in the words of the paper': ({
        **_BASE, 'explicit': 'put it in', 'plan':
            'grasp(blue cup, [100, 200, 180, 300])\nplace(drawer, [700, 400, 1000, 560])'},
        ['explicit']),
    'a list of such texts': ({
        **_BASE, 'explicit': 'put it in', 'actions': [
            'grasp(blue cup, [100, 200, 180, 300])', 'place(drawer, [700, 400, 1000, 560])']},
        ['explicit']),
    'a plan without a place': ({
        **_BASE, 'explicit': 'take it', 'plan': [_PLAN[0]]}, 'no place follows'),
}

BOX, AT = (0.1, 0.2, 0.3, 0.4), (0.5, 0.6)
"""What most replies say: a box of the block, a point on the tray, as fractions."""
PAIR = [('grasp', 'red block', BOX), ('place', 'tray', AT)]
_GRASP, _PLACE = 'grasp(red block, [100, 200, 300, 400])', 'place(tray, [500, 600])'

REPLIES = {
    'the form of the paper': (f'{_GRASP}\n{_PLACE}', PAIR),
    'numbered': (f'1. {_GRASP}\n2. {_PLACE}\n', PAIR),
    'with brackets and explanations': (
        f'Step 1) {_GRASP}: it is in the way.\n\nStep 2) {_PLACE}: there is room (on the left).',
        PAIR),
    'bold bullets in a fence': (
        f'Here is my plan:\n```\n- **{_GRASP}**\n- **{_PLACE}**\n```\nTell me if I should go on!',
        PAIR),
    'with a comma at the end': (f'[{_GRASP},\n {_PLACE},\n]', PAIR),
    'a list of texts': (f'["{_GRASP}", "{_PLACE}",]', PAIR),
    'names in quotes, and words': (
        ('Grasp(object="red block", bbox=[100, 200, 300, 400]);\n'
        "Place(target='tray', point=(500, 600));"), PAIR),
    'names with commas and brackets': (
        'grasp(block, the red one (left), [100, 200, 300, 400])\nplace(tray, [500, 600])',
        [('grasp', 'block, the red one (left)', BOX), ('place', 'tray', AT)]),
    'without brackets': (
        '1. Grasp the red block [100, 200, 300, 400]\n2. Place: tray [500, 600]',
        [('grasp', 'the red block', BOX), ('place', 'tray', AT)]),
    'a plan and a better one': (
        ('1. open(drawer, [0, 0, 10, 10])\nWait, it is open already. The final plan:\n'
        f'1. {_GRASP}\n2. {_PLACE}'), PAIR),
    'a better one without numbers': (
        f'open(drawer, [0, 0, 10, 10])\nWait, it is open. Rather:\n{_GRASP}\n{_PLACE}', PAIR),
    'an unknown verb in a line': (
        f'{_GRASP}\nwipe(table, [0, 0, 500, 500])\n{_PLACE}',
        [PAIR[0], ('wipe', 'table', (0.0, 0.0, 0.5, 0.5)), PAIR[1]]),
    'JSON with commas too many': (
        ('```json\n{"actions": [{"action": "grasp", "target": "red block", '
        '"bbox": [100, 200, 300, 400],},\n {"action": "place", "target": "tray", '
        '"point": [500, 600],},],}\n```'), PAIR),
    'JSON with comments': (
        ('[ // first the block\n {"action": "grasp", "target": "red block", '
        '"bbox": [100, 200, 300, 400]}, # then\n'
        ' {"action": "place", "target": "tray", "point": [500, 600]} ]'), PAIR),
    'Python': (
        ("[{'action': 'grasp', 'target': 'red block', 'bbox': (100, 200, 300, 400)}, "
        "{'action': 'place', 'target': 'tray', 'point': (500, 600)}]"), PAIR),
    'a draft in JSON, the plan in Python': (
        ('[{"action": "open", "target": "drawer", "bbox": [1, 1, 2, 2]}]\nNo. Rather:\n'
        "[{'action': 'grasp', 'target': 'red block', 'bbox': [100, 200, 300, 400]}, "
        "{'action': 'place', 'target': 'tray', 'point': [500, 600]},]"), PAIR),
    'Gemini': (
        ('```json\n[\n  {"action": "grasp", "label": "red block", "box_2d": [200, 100, 400, 300]},'
        '\n  {"action": "place", "label": "tray", "point": [600, 500]}\n]\n```'), PAIR),
    'Qwen': (
        ('[{"action": "grasp", "label": "red block", "bbox_2d": [100, 200, 300, 400]}, '
        '{"action": "place", "label": "tray", "point_2d": [500, 600]}]'), PAIR),
    'verbs as keys': (
        ('[{"grasp": {"target": "red block", "bbox": [100, 200, 300, 400]}}, '
        '{"place": {"target": "tray", "point": [500, 600]}}]'), PAIR),
    'a verb with its arguments': (
        ('{"plan": [{"action": "grasp", "args": ["red block", [100, 200, 300, 400]]}, '
        '{"action": "place", "args": ["tray", [500, 600]]}]}'), PAIR),
    'two corners': (
        ('[{"action": "grasp", "target": "red block", "bbox": [[100, 200], [300, 400]]}, '
        '{"action": "place", "target": "tray", "point": [500, 600]}]'), PAIR),
    # written after the ones above were read
    'arrows': ('GRASP(red block, [100, 200, 300, 400]) -> PLACE(tray, [500, 600])', PAIR),
    'a name for each number': (
        'grasp("red block", x1=100, y1=200, x2=300, y2=400)\nplace("tray", x=500, y=600)', PAIR),
    'lists in a list': (
        '{"actions": [["grasp", "red block", [100, 200, 300, 400]], ["place", "", [500, 600]]]}',
        [PAIR[0], ('place', '', AT)]),
    'another name for the place': (
        ('[["grasp", "red block", [100, 200, 300, 400]], '
        '{"action": "place", "object": "tray", "location": [500, 600]}]'), PAIR),
    'mappings for numbers': (
        ('[{"action": "grasp", "target": "red block", "bbox": {"xmin": 100, "ymin": 200, '
        '"xmax": 300, "ymax": 400}}, {"action": "place", "target": "tray", '
        '"point": {"y": 600, "x": 500}}]'), PAIR),
    'texts for numbers': (
        ('[{"action": "grasp", "target": "red block", "bbox": "[100, 200, 300, 400]"}, '
        '{"action": "place", "target": "tray", "point": "500, 600"}]'), PAIR),
    'numbered keys': (
        ('{"step_1": {"action": "grasp", "target": "red block", "bbox": [100, 200, 300, 400]}, '
        '"step_2": {"action": "place", "target": "tray", "point": [500, 600]}}'), PAIR),
    'a plan within the result': (
        ('{"reasoning": "...", "result": {"actions": [{"action": "grasp", "target": "red block", '
        '"bbox": [100, 200, 300, 400]}, {"action": "place", "target": "tray", '
        '"point": [500, 600]}]}}'), PAIR),
    'capital letters': (
        ('[{"Action": "Grasp", "Target": "red block", "BBox": [100, 200, 300, 400]}, '
        '{"Action": "Place", "Target": "tray", "Point": [500, 600]}]'), PAIR),
    'angle brackets': ('grasp(red block, <100, 200, 300, 400>)\nplace(tray, <500, 600>)', PAIR),
    'two corners in a call': (
        'grasp(red block, (100, 200), (300, 400))\nplace(tray, (500, 600))', PAIR),
    'lines in a call': (
        'grasp(\n  red block,\n  [100, 200, 300, 400]\n)\nplace(tray,\n [500, 600])', PAIR),
    'verbs that are none of the four': (
        '[{"action": "pick", "target": "red block", "bbox": [100, 200, 300, 400]}]',
        [('pick', 'red block', BOX)]),
    'a table': ('| 1 | grasp | red block | [100, 200, 300, 400] |', 'no plan'),
    # what must not be guessed
    'fractions where thousandths were asked for': (
        'grasp(red block, [0.1, 0.2, 0.3, 0.4])\nplace(tray, [0.5, 0.6])', 'unit_xyxy'),
    'pixels where thousandths were asked for': (
        'grasp(red block, [128, 144, 384, 288])\nplace(tray, [1240, 432])', 'pixel_xyxy'),
    'two ways in one reply': (
        ('[{"action": "grasp", "target": "a", "box_2d": [200, 100, 400, 300]}, '
        '{"action": "close", "target": "b", "bbox": [100, 200, 300, 400]}]'), 'box_2d'),
    'the keys of Gemini around pixels': (
        '[{"action": "grasp", "target": "a", "box_2d": [200, 100, 400, 1270]}]', 'box_2d'),
    'cut off': (f'{_GRASP}\nplace(tray, [500, 6', 'no plan'),
    'no plan': ('I would grasp (carefully) the red block and close(ly) look.', 'no plan'),
}
