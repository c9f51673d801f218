"""Chat templates in the manner of the families in use: their marks, their demands, their tricks."""

from dataclasses import dataclass
from typing import Final

CHATML: Final = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

LLAMA_3: Final = """\
{{- bos_token }}
{%- if not date is defined %}{% set date = strftime_now('%d %b %Y') %}{% endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}{% set system = '' %}{% endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' }}
{%- if tools is not none %}{{- 'Environment: ipython\\n' }}{% endif %}
{{- 'Today: ' + date + '\\n\\n' + system + '<|eot_id|>' }}
{%- if tools is not none %}
    {%- for tool in tools %}{{- tool | tojson(indent=4) }}{{- '\\n\\n' }}{% endfor %}
{%- endif %}
{%- for m in messages %}
    {{- '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"""

GEMMA: Final = """\
{{ bos_token }}
{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for m in messages %}
    {%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {{- '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' }}
    {{- m.content | trim + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"""

MISTRAL: Final = """\
{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- bos_token }}
{%- for m in loop_messages %}
    {%- if (m["role"] == "user") != (loop.index0 % 2 == 0) %}
        {{- raise_exception("After the optional system message, roles must alternate") }}
    {%- endif %}
    {%- if m["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + m["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + m["content"] + "[/INST]" }}
        {%- endif %}
    {%- else %}
        {{- " " + m["content"] | trim + eos_token }}
    {%- endif %}
{%- endfor %}"""

DEEPSEEK: Final = """\
{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{% set ns = namespace(system='') %}
{%- for m in messages %}{%- if m.role == 'system' %}{% set ns.system = m.content %}{% endif %}{% endfor -%}
{{ bos_token }}{{ ns.system }}
{%- for m in messages %}
{%- if m.role == 'user' %}{{ '<｜User｜>' + m.content }}{% endif %}
{%- if m.role == 'assistant' %}
    {{- '<｜Assistant｜>' + m.content.split('</think>')[-1] + eos_token }}
{%- endif %}
{%- endfor -%}
{% if add_generation_prompt %}
    {{- '<｜Assistant｜>' + ('<think>' if thinking is defined and thinking else '</think>') }}
{%- endif %}"""

QWEN_3: Final = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{% endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{% endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(last=messages|length - 1) %}
{%- for m in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if m.role == 'user' and not m.content.startswith('<tool_response>') %}
        {%- set ns.last = index %}{% break %}
    {%- endif %}
{%- endfor %}
{%- for m in messages %}
    {%- if m.role == 'user' or (m.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}
    {%- elif m.role == 'assistant' %}
        {%- if loop.index0 > ns.last %}
            {{- '<|im_start|>assistant\\n<think>\\n\\n</think>\\n\\n' + m.content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>assistant\\n' + m.content }}
        {%- endif %}
        {%- generation %}{{- '<|im_end|>\\n' }}{% endgeneration %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

GLM_4: Final = """\
[gMASK]<sop>
{%- for m in messages %}<|{{ m.role }}|>
{{ m.content }}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""

VICUNA: Final = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}\n\n{% elif m.role == 'user' %}"
    "USER: {{ m.content }}\n{% else %}ASSISTANT: {{ m.content }}</s>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)

IN_PARTS: Final = (
    "{% for m in messages %}<{{ m.role }}>{% for part in m.content %}{% if part.type == 'image' %}<image>"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
)


@dataclass(frozen=True, slots=True)
class Family:
    """A template and what is true of it.

    Attributes:
        ends_with: The mark after an answer, with `<s>` and `</s>` for begin and end.
    """

    name: str
    source: str
    ends_with: str
    system: bool = True
    tools: bool = False
    thinking: bool = False
    alternation: bool = False


FAMILIES: Final = (
    Family("chatml", CHATML, "<|im_end|>"),
    Family("llama-3", LLAMA_3, "<|eot_id|>", tools=True),
    Family("gemma", GEMMA, "<end_of_turn>", system=False, alternation=True),
    Family("mistral", MISTRAL, "</s>", alternation=True),
    Family("deepseek", DEEPSEEK, "</s>", thinking=True),
    Family("qwen-3", QWEN_3, "<|im_end|>", tools=True, thinking=True),
    Family("glm-4", GLM_4, "<|user|>"),
    Family("vicuna", VICUNA, "</s>"),
    Family("in-parts", IN_PARTS, "<end_of_utterance>"),
)
